"""Lines of JSON, unparsed, with the byte position at which each begins."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import FilePart, InputError
from curator_core.io.compression import DamagedStreamError, compression_of, decompressed
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.readers.json_records import foreign
from curator_core.io.readers.lines import Lines, lines_of_range, whole_lines

_BOM = b"\xef\xbb\xbf"
_NEWLINE, _BRACE = 10, 123


class Piece(NamedTuple):
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


def pieces_of(part: FilePart, storage_options: StorageOptions | None = None) -> Iterator[Piece]:
    """Yield a file, or a range of it, in pieces; fail where a compressed stream is damaged."""
    for lines in _lines(part, storage_options):
        if not part.start and not lines.offset:
            reason = foreign(lines.data[:64])
            if reason:
                raise InputError(f"cannot read {part.path}: {reason}")
        yield _piece(lines)


def _lines(part: FilePart, storage_options: StorageOptions | None) -> Iterator[Lines]:
    reopen = partial(open_input, part.path, storage_options)
    compression = compression_of(part.path)
    if compression is None:
        with reopen() as file:
            yield from lines_of_range(file, part.start, part.end)
        return
    try:
        yield from whole_lines(decompressed(reopen, compression))
    except DamagedStreamError as damage:
        raise InputError(
            f"cannot read {part.path}: {damage.reason} at byte {damage.offset} (decompressed); "
            "mend the file, or leave it out"
        ) from None


def _piece(lines: Lines) -> Piece:
    data = lines.data
    if lines.too_long:
        return Piece(data, np.array([0, len(data)]), np.array([lines.offset]), too_long=True)
    if lines.offset == 0 and data.startswith(_BOM):
        data = b"   " + data[len(_BOM) :]
    if not data.endswith(b"\n"):
        data += b"\n"
    edges = _edges(data)
    starts = edges[:-1]
    odd = np.flatnonzero(np.frombuffer(data, np.uint8)[starts] != _BRACE)
    blank = [int(row) for row in odd if data[edges[row] : edges[row + 1]].isspace()]
    if blank:
        return _without(blank, data, edges, lines.offset)
    return Piece(data, edges, starts + lines.offset)


def _edges(data: bytes) -> npt.NDArray[np.int64]:
    """Return where each line begins and where the last ends. Long lines are found one by one."""
    if data.count(b"\n", 0, _LOOKED_AT) * _LONG > _LOOKED_AT:
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        return np.concatenate(([0], newlines + 1))
    edges, end = [0], 0
    while end := data.find(b"\n", end) + 1:
        edges.append(end)
    return np.array(edges, np.int64)


_LOOKED_AT, _LONG = 1 << 15, 512


def _without(rows: list[int], data: bytes, edges: npt.NDArray[np.int64], offset: int) -> Piece:
    kept = np.delete(np.arange(len(edges) - 1), rows)
    lines = [data[edges[row] : edges[row + 1]] for row in kept]
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    fresh = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return Piece(b"".join(lines), fresh, edges[kept] + offset)
