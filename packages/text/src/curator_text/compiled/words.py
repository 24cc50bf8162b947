"""Counts of words, separated by white space, and of their kinds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from curator_text.compiled.alphabets import ALPHA, HASH, LETTER, POINTS, SPACE, SYMBOL
from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import SPACES, packed, point_at, space_at

WORDS, LETTERS, LONGEST, SYMBOLS, LETTERED, ALPHABETIC, SOLID, SOLID_LETTERS, COMMON, STOPS = range(
    10
)
"""Counts: words; their characters; characters of the longest; words that are `#` or an ellipsis;
words with a letter; words with a character for which `isalpha` holds; words that are not only
symbols, and their characters; occurrences of common English words; different stop words."""
WIDTH = 10

_PACKED_BYTES = 7
MOST_STOPS = 62


def packed_word(word: str) -> int:
    return int.from_bytes(b"\1" + word.encode("utf-8", "surrogatepass"), "big")


def fits_packed(words: Sequence[str]) -> bool:
    """Whether the kernel can search for these words."""
    sizes = [len(word.encode("utf-8", "surrogatepass")) for word in words]
    return len(words) <= MOST_STOPS and max(sizes, default=1) <= _PACKED_BYTES


def _table(words: Sequence[str]) -> Array:
    return np.array([packed_word(word) for word in words], np.uint64)


_ELLIPSES = _table(("...", "[...]", "(...)", "…", "[…]", "-»"))
_COMMON = _table(("the", "be", "to", "of", "and", "that", "have", "with"))


def packed_words(words: Sequence[str]) -> Array:
    return _table(words)


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
    alphabet, stops = tables
    seen = np.int64(0)
    place = start
    while place < end:
        flags, follows = _flags_at(data, place, alphabet)
        if flags & SPACE:
            place = follows
            continue
        begin, some, every, letters = place, 0, 255, 0
        while flags & SPACE == 0:
            some |= flags
            every &= flags
            letters += 1
            place = follows
            if place >= end:
                break
            flags, follows = _flags_at(data, place, alphabet)
        _add(counts, some, every, letters)
        known = packed(data, begin, place) if place - begin <= _PACKED_BYTES else np.uint64(0)
        if some & HASH:
            counts[SYMBOLS] += 2 * _rows_of_hashes(data, begin, place) > letters
        if known != 0:
            counts[SYMBOLS] += every & SYMBOL != 0 and _holds(_ELLIPSES, known) >= 0
            counts[COMMON] += _holds(_COMMON, known) >= 0
            stop = _holds(stops, known)
            if stop >= 0:
                seen |= np.int64(1) << stop
    counts[STOPS] = _bits(seen)


@part
def _flags_at(data: Array, place: int, alphabet: Array) -> tuple[Any, int]:
    if data[place] < 0x80:
        return np.int64(alphabet[data[place]]), place + 1
    point, follows = point_at(data, place)
    return np.int64(alphabet[point]) if point < POINTS else np.int64(0), follows


@part
def _add(counts: Array, some: int, every: int, letters: int) -> None:
    counts[WORDS] += 1
    counts[LETTERS] += letters
    counts[LONGEST] = max(counts[LONGEST], letters)
    counts[LETTERED] += some & LETTER != 0
    counts[ALPHABETIC] += some & ALPHA != 0
    if every & SYMBOL == 0 or every & ALPHA:
        counts[SOLID] += 1
        counts[SOLID_LETTERS] += letters


@part
def _rows_of_hashes(data: Array, start: int, end: int) -> int:
    found = 0
    for place in range(start, end):
        found += data[place] == 35 and (place == start or data[place - 1] != 35)
    return found


@part
def _holds(table: Array, value: np.uint64) -> int:
    for place in range(len(table)):
        if table[place] == value:
            return place
    return -1


@part
def _bits(value: Any) -> int:
    found = 0
    while value:
        value &= value - 1
        found += 1
    return found


@kernel
def fill_number_of_words(data: Array, starts: Array, ends: Array, rows: Array, out: Array) -> None:
    for row in rows:
        out[row, 0] = _number_of_words(data, starts[row], ends[row])


@part
def _number_of_words(data: Array, place: int, end: int) -> int:
    words, apart = 0, np.int64(1)  # `apart` is 1 after white space
    while place < end:
        if data[place] < 0x80:
            is_space = np.int64(SPACES[data[place]])
            place += 1
        else:
            width = space_at(data, place)
            is_space = np.int64(width > 0)
            place += max(width, 1)
        words += int(apart & (1 - is_space))
        apart = is_space
    return words
