"""Counts of lines by how they begin and end."""

from typing import Any

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import point_at, without_spaces

LINES, UNENDED, BULLETED, CUT_OFF = range(4)
"""Counts: non-blank lines; of these, lines without an end mark, with a bullet, and truncated."""
WIDTH = 4
SPLIT, SPLIT_BULLETED, SPLIT_CUT_OFF = range(3)
"""Counts with any kind of line break: lines; with a bullet or hyphen; truncated lines."""
SPLIT_WIDTH = 3


def _code_points(characters: str) -> Array:
    return np.array(sorted(map(ord, characters)), np.int64)


_BULLETS = _code_points("•‣⁃⁌⁍∙○●◘◦⦾⦿")  # noqa: RUF001 - a hyphen bullet is meant
_READ_MORE = np.frombuffer(b"read more", np.uint8)


@kernel
def fill_lines(data: Array, starts: Array, ends: Array, rows: Array, out: Array) -> None:
    for row in rows:
        start, end = starts[row], ends[row]
        while start <= end:
            stop = start
            while stop < end and data[stop] != 10:
                stop += 1
            first, last = without_spaces(data, start, stop)
            if first < last:
                _count_line(data, first, last, out[row])
            start = stop + 1


@part
def _count_line(data: Array, start: int, end: int, counts: Array) -> None:
    counts[LINES] += 1
    last = data[end - 1]
    counts[UNENDED] += not (last == 46 or last == 63 or last == 33 or last == 34 or last == 39)
    counts[CUT_OFF] += _is_cut_off(data, start, end)
    if data[start] >= 0x80:
        point, _ = point_at(data, start)
        for bullet in _BULLETS:
            counts[BULLETED] += point == bullet


@part
def _is_cut_off(data: Array, start: int, end: int) -> Any:
    if _ends_in_dots(data, start, end) or _is_bracketed(data, start, end):
        return True
    if end - start >= 3 and data[end - 3] == 45 and data[end - 2] == 0xC2 and data[end - 1] == 0xBB:
        return True
    if end - start > 2 and data[end - 1] == 46 and data[end - 2] == 46:
        end -= 2  # `read more..`
    return _ends_in_read_more(data, start, end)


@part
def _ends_in_read_more(data: Array, start: int, end: int) -> bool:
    size = len(_READ_MORE)
    if end - start < size:
        return False
    for step in range(size):
        byte = data[end - size + step]
        if (byte | 32 if 65 <= byte <= 90 else byte) != _READ_MORE[step]:
            return False
    return True


@part
def _is_bracketed(data: Array, start: int, end: int) -> Any:
    """Whether the line ends with `[...]`, `(...)` or `[…]`."""
    close = data[end - 1]
    if end - start < 5 or not (close == 93 or close == 41):
        return False
    opening = 91 if close == 93 else 40
    if data[end - 5] != opening:
        return False
    if data[end - 4] == 46 and data[end - 3] == 46 and data[end - 2] == 46:
        return True
    return close == 93 and _is_ellipsis(data, end - 4)


@part
def _is_ellipsis(data: Array, place: int) -> Any:
    return data[place] == 0xE2 and data[place + 1] == 0x80 and data[place + 2] == 0xA6


@part
def _ends_in_dots(data: Array, start: int, end: int) -> Any:
    """Whether the line ends with `...` or the ellipsis character."""
    if end - start < 3:
        return False
    if _is_ellipsis(data, end - 3):
        return True
    return data[end - 1] == 46 and data[end - 2] == 46 and data[end - 3] == 46


@kernel
def fill_split_lines(data: Array, starts: Array, ends: Array, rows: Array, out: Array) -> None:
    for row in rows:
        start, end = starts[row], ends[row]
        while start < end:
            stop, follows = line_end(data, start, end)
            out[row, SPLIT] += 1
            first, last = without_spaces(data, start, stop)
            out[row, SPLIT_BULLETED] += _is_bullet(data, first, last)
            out[row, SPLIT_CUT_OFF] += _ends_in_dots(data, first, last)
            start = follows


@part
def line_end(data: Array, place: int, end: int) -> tuple[int, int]:
    """Return where this line ends, at any kind of line break, and where the next one begins."""
    while place < end:
        width = _break_at(data, place, end)
        if width:
            return place, place + width
        place += 1
    return end, end


@part
def _break_at(data: Array, place: int, end: int) -> int:
    byte = data[place]
    if byte >= 32 and byte != 0xC2 and byte != 0xE2:
        return 0
    if byte == 13:
        return 2 if place + 1 < end and data[place + 1] == 10 else 1
    if 10 <= byte <= 12 or 28 <= byte <= 30:
        return 1
    if byte == 0xC2:
        return 2 if data[place + 1] == 0x85 else 0
    if byte == 0xE2 and data[place + 1] == 0x80 and 0xA8 <= data[place + 2] <= 0xA9:
        return 3
    return 0


@part
def _is_bullet(data: Array, start: int, end: int) -> Any:
    if start >= end:
        return False
    if data[start] == 45:
        return True
    return (
        end - start >= 3
        and data[start] == 0xE2
        and data[start + 1] == 0x80
        and data[start + 2] == 0xA2
    )
