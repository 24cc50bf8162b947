"""Repeats: find word n-grams that occur more than once in a text.

An n-gram can repeat only if both (n-1)-grams in it repeat. So each length looks only at the
candidates of the previous one, which ordinary text soon exhausts.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress, pairwise
from operator import sub
from typing import NamedTuple

from curator_text.sharing import listed


class Level(NamedTuple):
    """The n-grams of one length that occur more than once."""

    positions: list[int]
    """Where they begin, in order."""

    firsts: list[int]
    """For each position, where the same n-gram first began."""

    top: int | None
    """Where the most frequent n-gram first begins; ties go to the earliest."""

    times: int
    """How often the most frequent n-gram occurs: 1 if none repeats."""


_NONE = Level([], [], None, 1)


class Repeats:
    """Repeated n-grams by length; each length is computed once."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._levels: dict[int, Level] = {}

    def of(self, length: int) -> Level:
        known = self._levels.get(length)
        if known is None:
            known = self._levels[length] = self._found(length)
        return known

    def _found(self, length: int) -> Level:
        words = self._words
        if length == 1:
            return _level(words, range(len(words)))
        if length == 2:
            return _level(listed(pairwise(words), len(words)), range(len(words) - 1))
        shorter = self.of(length - 1)
        if not shorter.positions:
            return _NONE
        # Two adjacent n-grams make a longer one, identified by their first positions.
        places = shorter.positions
        follows = list(map((1).__eq__, map(sub, places[1:], places)))
        runs = listed(compress(pairwise(shorter.firsts), follows), len(places))
        return _level(runs, list(compress(places, follows)))


def _level(runs: Sequence[Hashable], positions: Sequence[int]) -> Level:
    """Find the repeats among `runs`, which begin at `positions`."""
    counts = Counter(runs)
    if len(counts) == len(runs):
        return _NONE
    repeated = {run for run, times in counts.items() if times > 1}
    chosen = list(map(repeated.__contains__, runs))
    left = list(compress(positions, chosen))
    seen: dict[Hashable, int] = {}
    firsts = list(map(seen.setdefault, compress(runs, chosen), left))
    most = max(counts.values())
    top = next(seen[run] for run, times in counts.items() if times == most)
    return Level(left, firsts, top, most)
