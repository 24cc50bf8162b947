"""Repetitions: how much of a text repeats earlier parts of it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import chain
from operator import mul
from typing import NamedTuple, TypeAlias

from curator_text.sharing import listed
from curator_text.wording import Wording

NGram: TypeAlias = tuple[str, ...]


def duplicates(parts: Sequence[str]) -> tuple[int, int]:
    """Count the parts that repeat an earlier part, and their characters."""
    unique = set(parts)
    missing = len(parts) - len(unique)
    if not missing:
        return 0, 0
    return missing, sum(map(len, parts)) - sum(map(len, unique))


class _Level(NamedTuple):
    """The n-grams of one length that occur more than once."""

    spans: list[tuple[int, int]]
    """Word spans in which every n-gram is a repeated one. Spans may overlap."""

    top: NGram
    """The most frequent n-gram; ties go to the earliest."""

    times: int
    """How often the most frequent n-gram occurs: 1 if none repeats."""


class Repetitions:
    """The n-grams of a text that occur more than once.

    An n-gram can repeat only if its shorter n-grams repeat. Single words settle most texts, and
    they are counted much faster than n-grams.
    """

    def __init__(self, wording: Wording) -> None:
        self._words = wording.words
        self._counts = wording.counts
        self._levels: dict[int, _Level] = {}

    @cached_property
    def _heaviest(self) -> int:
        """An upper bound for the characters of one word's occurrences, each with a space."""
        times = self._counts.values()
        letters: int = max(map(mul, map(len, self._counts), times))
        return letters + max(times)

    def top_chars_at_most(self, length: int) -> int:
        """Return an upper bound of `top_chars`, without counting n-grams."""
        # Each word of an n-gram occurs at least as often as the n-gram, followed by a space.
        return length * self._heaviest

    def top_chars(self, length: int) -> int:
        """Return the length of the most frequent n-gram, with spaces, times its count.

        Ties go to the earliest.
        """
        level = self._level(length)
        return (len("".join(level.top)) + length - 1) * level.times

    def duplicate_chars(self, length: int) -> int:
        """Count the characters in n-grams that repeat earlier ones, without overlaps."""
        words = self._words
        seen: set[NGram] = set()
        chars = place = 0
        for start, end in self._level(length).spans:
            place = max(place, start)
            while place <= end - length:
                gram = tuple(words[place : place + length])
                if gram in seen:
                    chars += len("".join(gram))
                    place += length
                else:
                    seen.add(gram)
                    place += 1
        return chars

    def _level(self, length: int) -> _Level:
        known = self._levels.get(length)
        if known is None:
            known = self._levels[length] = self._found(length)
        return known

    def _found(self, length: int) -> _Level:
        words = self._words
        pieces = []
        for start, end in self._suspects(length):
            run = words[start:end]
            shifted = (run[place:] for place in range(length))
            pieces.append((start, listed(zip(*shifted, strict=False), len(run))))
        grams = list(chain.from_iterable(inside for _, inside in pieces))
        if len(set(grams)) == len(grams):
            return _Level([], tuple(words[:length]), 1)
        counts = Counter(grams)
        repeated = {gram for gram, times in counts.items() if times > 1}
        spans = [
            (start + first, start + last + length - 1)
            for start, inside in pieces
            for first, last in _rows(map(repeated.__contains__, inside))
        ]
        top = max(counts, key=counts.__getitem__)
        return _Level(spans, top, counts[top])

    def _suspects(self, length: int) -> list[tuple[int, int]]:
        """Return the spans in which n-grams of this length may repeat."""
        shorter = [each for each in self._levels if each < length]
        if shorter:
            spans = self._levels[max(shorter)].spans
            return [(start, end) for start, end in spans if end - start >= length]
        repeated = {word for word, times in self._counts.items() if times > 1}
        return _rows(map(repeated.__contains__, self._words), length)


def _rows(flags: Iterable[bool], at_least: int = 1) -> list[tuple[int, int]]:
    """Return the spans of consecutive true flags, if they have at least this length."""
    rows = _rows_of(at_least).finditer(bytes(flags))
    return [row.span() for row in rows]


@cache
def _rows_of(at_least: int) -> re.Pattern[bytes]:
    return re.compile(rb"\x01{%d,}" % at_least)
