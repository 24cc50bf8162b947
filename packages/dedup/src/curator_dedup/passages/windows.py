"""Windows: so many units of a text in a row, known by 128 bits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curator_dedup.mixing import Words, mixed
from curator_dedup.passages.hashing import Indices, hashes_of_windows, sliding_minimum
from curator_dedup.passages.units import Unit, Units, units_of

_LEAST_ANCHORED = 8
"""Shorter windows have too few stretches in them for an anchor to save anything."""

_CHARACTERS = 1 << 20

_OTHER = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True)
class PassageRule:
    """What counts as a passage: `size` units in a row."""

    unit: Unit
    size: int
    normalize: bool = False

    @property
    def is_anchored(self) -> bool:
        return self.size >= _LEAST_ANCHORED


@dataclass(frozen=True)
class Windows:
    """The windows of some texts: each begins with a unit, and is within one text."""

    units: Units
    size: int
    firsts: Indices
    """The unit with which each begins."""

    @property
    def texts(self) -> Indices:
        return self.units.texts[self.firsts]

    def words(self, chosen: npt.NDArray[np.bool_] | None = None) -> Words:
        """The hashes, as two numbers each, of all windows or of those chosen."""
        firsts = self.firsts if chosen is None else self.firsts[chosen]
        values = self.units.hashes
        lanes = (values, mixed(values + _OTHER))
        hashes = [hashes_of_windows(lane, self.size, at)[firsts] for at, lane in enumerate(lanes)]
        return np.stack(hashes, axis=1)

    def anchors(self) -> "Anchors":
        """In each window the least hash of the shorter stretches in it.

        Windows that are equal have equal anchors, wherever they stand, so only those whose anchor
        is somewhere else, too, can have an equal.
        """
        length = self.size // 2
        stretches = hashes_of_windows(self.units.hashes, length)
        width = self.size - length + 1
        return Anchors(stretches, sliding_minimum(stretches, width)[self.firsts], width)


@dataclass(frozen=True)
class Anchors:
    stretches: Words
    least: Words
    """The anchor of each window."""

    width: int
    """How many stretches a window has."""

    def values(self) -> Words:
        """The anchors of windows, evenly spread: the least numbers are all small."""
        return mixed(self.least)

    def places(self, firsts: Indices) -> Words:
        """An anchor for each place where one stands, however many windows share it there."""
        largest = np.zeros(len(self.stretches) + self.width - 1, np.uint64)
        largest[firsts + self.width - 1] = self.least
        # What is least of one window that holds it is the largest of all that hold it.
        flipped = ~sliding_minimum(~largest, self.width)
        known = sliding_known(firsts, len(self.stretches), self.width)
        chosen = known & (flipped[: len(self.stretches)] == self.stretches)
        return mixed(self.stretches[chosen])


def sliding_known(firsts: Indices, count: int, width: int) -> npt.NDArray[np.bool_]:
    """Which stretches are in any window."""
    size = count + width + 1
    steps = np.bincount(firsts, minlength=size) - np.bincount(firsts + width, minlength=size)
    return np.asarray(np.cumsum(steps)[:count] > 0)


def windows_of(texts: Sequence[str | None], rule: PassageRule) -> Windows:
    units = units_of(texts, rule.unit, normalize=rule.normalize)
    count = max(0, len(units.texts) - rule.size + 1)
    inside = units.texts[:count] == units.texts[rule.size - 1 : rule.size - 1 + count]
    return Windows(units, rule.size, np.flatnonzero(inside))


def chunks_of(texts: Sequence[str | None]) -> Iterator[slice]:
    """Texts in a row, so many that what is worked out of them stays small."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        length = len(text or "")
        if place > start and size + length > _CHARACTERS:
            yield slice(start, place)
            start, size = place, 0
        size += length
    if start < len(texts):
        yield slice(start, len(texts))
