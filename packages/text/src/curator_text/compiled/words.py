"""Counts of words, separated by white space, and of their kinds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import (
    ALPHA,
    HASH,
    LETTER,
    POINTS,
    SPACE,
    SYMBOL,
    packed,
    point_at,
)

WORDS, CHARS, LONGEST, SYMBOLS, WITH_LETTER, ALPHABETIC, SOLID, SOLID_CHARS, COMMON, STOPS = range(
    10
)
"""Counts: words; their characters; characters of the longest; words that are `#` or an ellipsis;
words with a letter; words with a character for which `isalpha` holds; words that are not only
symbols, and their characters; occurrences of common English words; different stop words."""
WIDTH = 10

_PACKED_BYTES = 7


def pack_words(words: Sequence[str]) -> Array:
    """Return short words as numbers, to compare them with those of `utf8.packed`."""
    data = (b"\1" + word.encode("utf-8", "surrogatepass") for word in words)
    return np.array([int.from_bytes(one, "big") for one in data], np.uint64)


_ELLIPSES = pack_words(("...", "[...]", "(...)", "…", "[…]", "-»"))
_COMMON = pack_words(("the", "be", "to", "of", "and", "that", "have", "with"))


@kernel
def fill_words(
    data: Array, starts: Array, ends: Array, rows: Array, tables: tuple[Array, Array], out: Array
) -> None:
    for row in rows:
        _count_words(data, starts[row], ends[row], tables, out[row])


@part
def _count_words(
    data: Array, start: int, end: int, tables: tuple[Array, Array], counts: Array
) -> None:
    flags_of, stops = tables
    found = np.int64(0)
    place = start
    while place < end:
        flags, follows = _flags_at(data, place, flags_of)
        if flags & SPACE:
            place = follows
            continue
        begin, some, every, size = place, 0, 255, 0
        while flags & SPACE == 0:
            some |= flags
            every &= flags
            size += 1
            place = follows
            if place >= end:
                break
            flags, follows = _flags_at(data, place, flags_of)
        _add_word(counts, some, every, size)
        known = packed(data, begin, place) if place - begin <= _PACKED_BYTES else np.uint64(0)
        if some & HASH:
            counts[SYMBOLS] += 2 * _count_hash_runs(data, begin, place) > size
        if known != 0:
            counts[SYMBOLS] += every & SYMBOL != 0 and _find(_ELLIPSES, known) >= 0
            counts[COMMON] += _find(_COMMON, known) >= 0
            stop = _find(stops, known)
            if stop >= 0:
                found |= np.int64(1) << stop
    counts[STOPS] = _count_bits(found)


@part
def _flags_at(data: Array, place: int, flags_of: Array) -> tuple[Any, int]:
    if data[place] < 0x80:
        return np.int64(flags_of[data[place]]), place + 1
    point, follows = point_at(data, place)
    return np.int64(flags_of[point]) if point < POINTS else np.int64(0), follows


@part
def _add_word(counts: Array, some: int, every: int, size: int) -> None:
    counts[WORDS] += 1
    counts[CHARS] += size
    counts[LONGEST] = max(counts[LONGEST], size)
    counts[WITH_LETTER] += some & LETTER != 0
    counts[ALPHABETIC] += some & ALPHA != 0
    if every & SYMBOL == 0 or every & ALPHA:
        counts[SOLID] += 1
        counts[SOLID_CHARS] += size


@part
def _count_hash_runs(data: Array, start: int, end: int) -> int:
    found = 0
    for place in range(start, end):
        found += data[place] == 35 and (place == start or data[place - 1] != 35)
    return found


@part
def _find(table: Array, value: np.uint64) -> int:
    for place in range(len(table)):
        if table[place] == value:
            return place
    return -1


@part
def _count_bits(value: Any) -> int:
    found = 0
    while value:
        value &= value - 1
        found += 1
    return found
