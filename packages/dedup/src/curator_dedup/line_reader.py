"""Lines of JSON, unparsed, with the byte position at which each begins."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import FilePart, InputError
from curator_core.io.compression import DamagedStreamError, compression_of, decompress
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.readers import Lines, describe_other_format, lines_in_range, whole_lines

_BOM = b"\xef\xbb\xbf"
_NEWLINE, _BRACE = 10, 123


class LineBatch(NamedTuple):
    """Consecutive lines without blank ones, each identified by its byte position in the file."""

    data: bytes
    edges: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    too_long: bool = False

    def __len__(self) -> int:
        return len(self.positions)

    def column(self) -> pa.Array:
        """Return the unparsed lines, without a copy of the data."""
        buffers = [None, pa.py_buffer(self.edges.astype(np.int32)), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.binary(), len(self.positions), buffers)


def read_lines(
    part: FilePart, storage_options: StorageOptions | None = None
) -> Iterator[LineBatch]:
    """Yield a file, or a range of it, in batches; fail where a compressed stream is damaged."""
    for lines in _lines(part, storage_options):
        if not part.start and not lines.offset:
            reason = describe_other_format(lines.data[:64])
            if reason:
                raise InputError(f"cannot read {part.path}: {reason}")
        yield _split_lines(lines)


def _lines(part: FilePart, storage_options: StorageOptions | None) -> Iterator[Lines]:
    reopen = partial(open_input, part.path, storage_options)
    compression = compression_of(part.path)
    if compression is None:
        with reopen() as file:
            yield from lines_in_range(file, part.start, part.end)
        return
    try:
        yield from whole_lines(decompress(reopen, compression))
    except DamagedStreamError as damage:
        raise InputError(
            f"cannot read {part.path}: {damage.reason} at byte {damage.offset} (decompressed); "
            "repair or remove the file"
        ) from None


def _split_lines(lines: Lines) -> LineBatch:
    data = lines.data
    if lines.too_long:
        return LineBatch(data, np.array([0, len(data)]), np.array([lines.offset]), too_long=True)
    if lines.offset == 0 and data.startswith(_BOM):
        data = b"   " + data[len(_BOM) :]
    if not data.endswith(b"\n"):
        data += b"\n"
    edges = _edges(data)
    starts = edges[:-1]
    suspects = np.flatnonzero(np.frombuffer(data, np.uint8)[starts] != _BRACE)
    blank = [int(row) for row in suspects if data[edges[row] : edges[row + 1]].isspace()]
    if blank:
        return _without_blank(blank, data, edges, lines.offset)
    return LineBatch(data, edges, starts + lines.offset)


def _edges(data: bytes) -> npt.NDArray[np.int64]:
    """Return where each line begins and where the last ends. Long lines are found one by one."""
    if data.count(b"\n", 0, _SAMPLED_BYTES) * _LONG > _SAMPLED_BYTES:
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        return np.concatenate(([0], newlines + 1))
    edges, end = [0], 0
    while end := data.find(b"\n", end) + 1:
        edges.append(end)
    return np.array(edges, np.int64)


_SAMPLED_BYTES, _LONG = 1 << 15, 512


def _without_blank(
    rows: list[int], data: bytes, edges: npt.NDArray[np.int64], offset: int
) -> LineBatch:
    kept = np.delete(np.arange(len(edges) - 1), rows)
    lines = [data[edges[row] : edges[row + 1]] for row in kept]
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    new_edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return LineBatch(b"".join(lines), new_edges, edges[kept] + offset)
