"""Counts of single characters."""

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import characters_in, count_bytes

CHARS, PLAIN, DIGITS, BLANKS, BRACKETS, HASHES, ELLIPSES, BREAKS = range(8)
WIDTH = 8

_LANE_BITS = 16
_LANE = np.uint64(0xFFFF)
_RUN = 0xFFFF  # the most bytes that cannot overflow a lane


def _lanes() -> Array:
    """Return, per byte, a 1 in the lane of each of its classes: one addition updates four
    counts."""
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    classes = (letters + b"0123456789\n?!,.", b"0123456789", b"\t\n\r\b ", b"{}[]()")
    lanes = np.zeros(256, np.uint64)
    for place, members in enumerate(classes):
        lanes[list(members)] += np.uint64(1 << (_LANE_BITS * place))
    return lanes


_LANES = _lanes()


@kernel
def fill_characters(data: Array, starts: Array, ends: Array, rows: Array, out: Array) -> None:
    for row in rows:
        start, end = starts[row], ends[row]
        counts = out[row]
        counts[CHARS] = characters_in(data, start, end)
        _classes(data, start, end, counts)
        counts[HASHES] = count_bytes(data, start, end, 35)
        counts[BREAKS] = count_bytes(data, start, end, 10)
        counts[ELLIPSES] = _dots(data, start, end)
        if counts[CHARS] < end - start:
            _wide(data, start, end, counts)


@part
def _classes(data: Array, start: int, end: int, counts: Array) -> None:
    while start < end:
        stop = min(end, start + _RUN)
        lanes = np.uint64(0)
        for place in range(start, stop):
            lanes += _LANES[data[place]]
        for lane in range(4):
            shift = np.uint64(_LANE_BITS * lane)
            counts[PLAIN + lane] += np.int64((lanes >> shift) & _LANE)
        start = stop


@part
def _dots(data: Array, start: int, end: int) -> int:
    """Count `...`; six dots in a row count twice."""
    found, row = 0, 0
    for place in range(start, end):
        row = row + 1 if data[place] == 46 else 0
        if row == 3:
            found += 1
            row = 0
    return found


@part
def _wide(data: Array, start: int, end: int, counts: Array) -> None:
    """Count ellipsis characters and mathematical angle brackets."""
    for place in range(start, end - 2):
        if data[place] != 0xE2:
            continue
        second, third = data[place + 1], data[place + 2]
        if second == 0x80 and third == 0xA6:
            counts[ELLIPSES] += 1
        elif second == 0x9F and (third == 0xA8 or third == 0xA9):
            counts[BRACKETS] += 1
