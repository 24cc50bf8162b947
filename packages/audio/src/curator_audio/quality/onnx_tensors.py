"""ONNX weights: read the tensors of an ONNX file by name, without the onnx library.

An ONNX file is a protocol buffer. Field 7 of the model is the graph; field 5 of the graph is a
tensor. Fields of a tensor: 1 dimensions, 2 data type, 4 and 9 values, 8 name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from curator_models.hub import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = dict[str, NDArray[np.float32]]


_GRAPH, _TENSOR = 7, 5

_DIMENSIONS, _KIND, _FLOATS, _NAME, _RAW = 1, 2, 4, 8, 9

_FLOAT32 = 1

_SIZES = {1: 8, 5: 4}
"""Bytes of the wire types with a fixed length."""

_BYTES, _NUMBER = 2, 0

Field: TypeAlias = tuple[int, int | memoryview]


def read_tensors(path: Path) -> "Numbers":
    """Return all single-precision tensors by name."""
    try:
        content = memoryview(path.read_bytes())
        graphs = [value for number, value in _fields(content) if number == _GRAPH]
        parts = _fields(_message(graphs[0]))
        found = dict(_tensor(_message(value)) for number, value in parts if number == _TENSOR)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is not a readable ONNX file: {error}") from None
    return {name: value for name, value in found.items() if value is not None}


def _tensor(content: memoryview) -> "tuple[str, NDArray[np.float32] | None]":
    import numpy as np

    dimensions: list[int] = []
    facts: dict[int, int | memoryview] = {}
    for number, value in _fields(content):
        if number == _DIMENSIONS:
            dimensions += [value] if isinstance(value, int) else _numbers(value)
        else:
            facts[number] = value
    name = bytes(_message(facts[_NAME])).decode()
    if facts[_KIND] != _FLOAT32:
        return name, None
    values = np.frombuffer(_message(facts.get(_RAW, facts.get(_FLOATS, b""))), "<f4")
    return name, values.reshape(dimensions)


def _message(value: "int | memoryview | bytes") -> memoryview:
    if isinstance(value, int):
        raise ValueError("found a number instead of a message")
    return memoryview(value)


def _fields(content: memoryview) -> Iterator[Field]:
    offset = 0
    while offset < len(content):
        key, offset = _number(content, offset)
        kind = key & 7
        if kind == _NUMBER:
            value, offset = _number(content, offset)
            yield key >> 3, value
            continue
        size = _SIZES.get(kind)
        if kind == _BYTES:
            size, offset = _number(content, offset)
        if size is None or offset + size > len(content):
            raise ValueError("it is cut off, or not an ONNX file")
        yield key >> 3, content[offset : offset + size]
        offset += size


def _number(content: memoryview, offset: int) -> tuple[int, int]:
    """Decode a varint: seven bits per byte, lowest first; the high bit marks that more follow."""
    value = shift = 0
    while True:
        byte = content[offset]
        value |= (byte & 127) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 128:
            return value, offset


def _numbers(content: memoryview) -> list[int]:
    found, offset = [], 0
    while offset < len(content):
        value, offset = _number(content, offset)
        found.append(value)
    return found
