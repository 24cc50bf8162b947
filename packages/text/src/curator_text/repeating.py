"""Repeating: which runs of words occur more than once in a text.

A run of n words can repeat only where both runs of n-1 words in it do. So each length looks only
at what the one before it has left, which in ordinary text is soon nothing.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress, pairwise
from operator import sub
from typing import NamedTuple

from curator_text.sharing import listed


class Level(NamedTuple):
    """The runs of one length that occur more than once."""

    positions: list[int]
    """Where they begin, in order."""

    firsts: list[int]
    """For each of them where the same run began for the first time."""

    top: int | None
    """Where the commonest begins for the first time; among equals the one that comes first."""

    times: int
    """How often the commonest occurs: 1 where none repeats."""


_NONE = Level([], [], None, 1)


class Repeats:
    """The runs of words that repeat, by their length, each length worked out once."""

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
        # Two runs that begin side by side make a longer one, which is told by what they are.
        places = shorter.positions
        follows = list(map((1).__eq__, map(sub, places[1:], places)))
        runs = listed(compress(pairwise(shorter.firsts), follows), len(places))
        return _level(runs, list(compress(places, follows)))


def _level(runs: Sequence[Hashable], positions: Sequence[int]) -> Level:
    """What repeats among `runs`, which begin at `positions`."""
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
