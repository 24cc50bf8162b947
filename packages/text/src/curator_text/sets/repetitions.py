"""Repetitions: how much of a text says again what it has said."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from operator import mul

from curator_text.wording import Wording


def duplicates(parts: Sequence[str]) -> tuple[int, int]:
    """How many of the parts stood there before, and how many characters these have."""
    unique = set(parts)
    missing = len(parts) - len(unique)
    if not missing:
        return 0, 0
    return missing, sum(map(len, parts)) - sum(map(len, unique))


def word_counts(wording: Wording) -> "Counter[str]":
    """How often each word occurs; the wording remembers it."""
    known: Counter[str] | None = wording.__dict__.get("counts")
    if known is None:
        known = wording.__dict__["counts"] = Counter(wording.words)
    return known


class Repetitions:
    """The n-grams of a text that occur more than once.

    Most texts are settled by how often their single words occur, which is counted much faster
    than n-grams are.
    """

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._words = wording.words
        self._counts = word_counts(wording)
        self._distinct_from: int | None = None

    def top_chars_at_most(self, length: int) -> int:
        """A number that the commonest n-gram's characters cannot exceed."""
        # Each of its n words occurs at least as often as it does, and a space stands between.
        return length * _heaviest(self._counts)

    def top_chars(self, length: int) -> int:
        """The commonest n-gram's characters, spaces included, times how often it occurs.

        Among equally common ones the first counts.
        """
        level = self._wording.repeats.of(length)
        first = level.top or 0
        letters = sum(map(len, self._words[first : first + length]))
        return (letters + length - 1) * level.times

    def duplicate_chars(self, length: int) -> int:
        """The characters of the n-grams that occurred before and do not overlap each other."""
        if not self._repeats(length):
            return 0
        level = self._wording.repeats.of(length)
        seen: set[int] = set()
        chars = free_from = 0
        for here, first in zip(level.positions, level.firsts, strict=True):
            if here < free_from:
                continue
            if first in seen:
                chars += sum(map(len, self._words[here : here + length]))
                free_from = here + length
            else:
                seen.add(first)
        return chars

    def _repeats(self, length: int) -> bool:
        """Whether any n-gram occurs twice; where none does, no longer one can."""
        if self._distinct_from is not None and length >= self._distinct_from:
            return False
        grams = self._suspects(length)
        if len(set(grams)) == len(grams):
            self._distinct_from = length
            return False
        return True

    def _suspects(self, length: int) -> list[tuple[str, ...]]:
        """The n-grams in which no word is the only one of its kind: all that repeat, and more."""
        words = self._words
        single = {word for word, times in self._counts.items() if times == 1}
        flags = bytes(map(single.__contains__, words))
        grams: list[tuple[str, ...]] = []
        for found in _runs_of_zeros(length).finditer(flags):
            run = words[found.start() : found.end()]
            grams += zip(*(run[place:] for place in range(length)), strict=False)
        return grams


def _heaviest(counts: "Counter[str]") -> int:
    """No word with a space behind it takes more characters of the text than this."""
    times = counts.values()
    letters: int = max(map(mul, map(len, counts), times))
    return letters + max(times)


@cache
def _runs_of_zeros(length: int) -> re.Pattern[bytes]:
    return re.compile(rb"\0{%d,}" % length)
