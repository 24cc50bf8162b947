"""Samples: an image with its key and sidecars, and tables of samples."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, Literal, NamedTuple, TypeAlias, get_args

import orjson
import pyarrow as pa
from curator_core import Rejected
from curator_core.errors import InputError
from curator_core.io.readers import to_columns, to_table
from curator_core.model.arrow import json_field

from curator_image.decoding import Encoded
from curator_image.file_formats import (
    SIGNATURE_BYTES,
    extension_mismatch,
    is_text_extension,
    last_extension,
)
from curator_image.image_batch import EXTENSION, IMAGE, KEY, OWN_COLUMNS, SOURCE, sidecar_metadata

MIN_SLICE_BYTES = 32 * 1024
"""Smaller parts are read along with their surroundings."""

CAN_SLICE_FILES = hasattr(os, "preadv")


class OpenFile:
    """A local file that stays open while it is referenced."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._number = os.dup(file.fileno())
        self._name = name
        self.size = os.fstat(self._number).st_size

    def __del__(self, close=os.close) -> None:  # type: ignore[no-untyped-def]  # outlives os
        close(self._number)

    def read(self, start: int, size: int) -> bytes:
        """Read `size` bytes, or fewer at the end of the file."""
        return os.pread(self._number, size, start)

    def read_all(self, start: int, size: int) -> bytes:
        data = self.read(start, size)
        self._check(len(data), size)
        return data

    def read_into(self, room: memoryview, start: int) -> None:
        self._check(os.preadv(self._number, [room], start), len(room))

    def _check(self, found: int, expected: int) -> None:
        if found < expected:
            raise InputError(f"{self._name} was truncated while it was being read")


class FileSlice:
    """A range of bytes in a file; its first bytes are already known."""

    __slots__ = ("_at", "_file", "_size", "head")

    def __init__(self, file: OpenFile, at: int, size: int, head: bytes) -> None:
        self._file = file
        self._at = at
        self._size = size
        self.head = head

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return self._file.read_all(self._at, self._size)

    def read_into(self, room: memoryview) -> None:
        self._file.read_into(room, self._at)


WrongExtension: TypeAlias = Literal["quarantine", "keep"]
_JSON = "json"

WRONG_EXTENSION_CHOICES: tuple[str, ...] = get_args(WrongExtension)


class ImageSample(NamedTuple):
    """An image and the sidecar files with the same key, by extension."""

    key: str
    image: Encoded | FileSlice
    extension: str
    source: str
    sidecars: Mapping[str, bytes] = MappingProxyType({})

    @property
    def size(self) -> int:
        return len(self.image) + sum(map(len, self.sidecars.values()))

    @property
    def head(self) -> Encoded:
        """The first bytes of the image."""
        return (
            self.image.head if isinstance(self.image, FileSlice) else self.image[:SIGNATURE_BYTES]
        )

    @property
    def location(self) -> str:
        return f"{self.source} key {self.key!r}"


@dataclass(frozen=True)
class SampleRequirements:
    """Requirements for samples."""

    required: tuple[str, ...] = ()
    wrong_extension: WrongExtension = "quarantine"
    json: bool = False

    def problem(self, sample: ImageSample) -> str | None:
        """Return the reason to reject a sample, or None; it is not decoded."""
        head = sample.head
        if not head:
            return "the image is empty"
        if self.wrong_extension == "quarantine":
            reason = extension_mismatch(sample.extension, head)
            if reason:
                return f"{reason}; rename it, or set wrong_extension: keep"
        for ending in self.required:
            if ending not in sample.sidecars:
                return f"its .{ending} file is missing"
        return _encoding_problem(sample.sidecars) or (_json_problem(sample) if self.json else None)


def _encoding_problem(sidecars: Mapping[str, bytes]) -> str | None:
    for ending, data in sidecars.items():
        if not data.isascii() and is_text_extension(ending):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                return f"its .{ending} is not UTF-8: 0x{data[error.start]:02x} at {error.start}"
    return None


def _json_problem(sample: ImageSample) -> str | None:
    data = sample.sidecars.get(_JSON)
    try:
        found = {} if data is None else orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return f"its .json is not valid JSON: {error.msg} at {error.pos}"
    return None if isinstance(found, dict) else "its .json is not a JSON object"


def reject_sample(sample: ImageSample, reason: str) -> Rejected:
    return Rejected(reason, sample.location, payload=bytes(sample.image))


def sidecar_column(ending: str) -> str:
    """Return the column of a sidecar, renamed if it clashes with a batch's own columns."""
    return f"{ending}_file" if ending in OWN_COLUMNS else ending


def build_sample_table(samples: Sequence[ImageSample]) -> pa.Table:
    """Return a table with a row for each sample and a column for each sidecar extension."""
    endings = sorted(set().union(*(sample.sidecars for sample in samples)))
    fields = [pa.field(KEY, pa.string()), pa.field(IMAGE, pa.binary()),
              pa.field(EXTENSION, pa.string()), pa.field(SOURCE, pa.string())]  # fmt: skip
    arrays = [
        pa.array([sample.key for sample in samples], pa.string()),
        binary_array([sample.image for sample in samples]),
        pa.array([sample.extension for sample in samples], pa.string()),
        pa.array([sample.source for sample in samples], pa.string()),
    ]
    for ending in endings:
        fields.append(_sidecar_field(ending))
        values = [sample.sidecars.get(ending) for sample in samples]
        arrays.append(pa.array(values, pa.binary()).cast(fields[-1].type))
    known = sidecar_metadata({sidecar_column(ending): ending for ending in endings})
    return pa.table(arrays, schema=pa.schema(fields, known))


def _sidecar_field(ending: str) -> pa.Field:
    name = sidecar_column(ending)
    if last_extension(ending) == "json":
        return json_field(name)
    return pa.field(name, pa.string() if is_text_extension(ending) else pa.binary())


def add_json_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Add columns for values in the sidecar JSON, with inferred types."""
    texts = table.column(_JSON).to_pylist() if _JSON in table.column_names else []
    records = [orjson.loads(text) if text else {} for text in texts] or [{}] * table.num_rows
    found = to_table([to_columns(records, names)])
    for name in names:
        known = f"{name}_json" if name in table.column_names else name
        table = table.append_column(found.schema.field(name).with_name(known), found.column(name))
    return table


def select_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Select these columns; missing ones are filled with nulls."""
    for name in names:
        if name not in table.column_names:
            kind = _sidecar_field(name)
            table = table.append_column(kind, pa.nulls(table.num_rows, kind.type))
    return table.select(list(names))


def binary_array(values: Sequence[Encoded | FileSlice]) -> pa.Array:
    """Return bytes as a column, with a single copy."""
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value))
    joined = pa.allocate_buffer(offsets[-1])  # from a pool that reuses memory
    room = memoryview(joined).cast("B")
    for start, value in zip(offsets, values, strict=False):
        if isinstance(value, FileSlice):
            value.read_into(room[start : start + len(value)])
        else:
            room[start : start + len(value)] = value
    ends = pa.array(offsets, pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(values), [None, ends, joined])
