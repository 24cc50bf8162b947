"""Windows: runs of units of a text, identified by 128-bit hashes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from curator_dedup.hashing import U64Array, mixed
from curator_dedup.passages.rolling_hash import hashes_of_windows, sliding_minimum
from curator_dedup.passages.units import PassageUnit, Units, find_units
from curator_dedup.passes.group import Indices, Mask

_MIN_ANCHORED = 8
"""Minimum size for anchors; they save nothing for shorter windows, which have too few stretches."""

_CHARACTERS = 1 << 20

_OTHER = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True)
class PassageRule:
    """Defines a passage: `size` consecutive units."""

    unit: PassageUnit
    size: int
    normalize: bool = False

    @property
    def is_anchored(self) -> bool:
        return self.size >= _MIN_ANCHORED


@dataclass(frozen=True)
class Windows:
    """The windows of some texts: each begins at a unit and stays within one text."""

    units: Units
    size: int
    firsts: Indices
    """The index of the unit at which each window begins."""

    @property
    def texts(self) -> Indices:
        return self.units.texts[self.firsts]

    def hashes(self, chosen: Mask | None = None) -> U64Array:
        """Return the hashes, as two numbers each, of all windows or of the chosen ones."""
        firsts = self.firsts if chosen is None else self.firsts[chosen]
        values = self.units.hashes
        lanes = (values, mixed(values + _OTHER))
        hashes = [hashes_of_windows(lane, self.size, at)[firsts] for at, lane in enumerate(lanes)]
        return np.stack(hashes, axis=1)

    def anchors(self) -> "Anchors":
        """Return the anchor of each window: the smallest hash of the shorter stretches in it.

        Equal windows have equal anchors wherever they occur, so only a window whose anchor occurs
        elsewhere too can have a duplicate.
        """
        length = self.size // 2
        stretches = hashes_of_windows(self.units.hashes, length)
        width = self.size - length + 1
        return Anchors(stretches, sliding_minimum(stretches, width)[self.firsts], width)


@dataclass(frozen=True)
class Anchors:
    stretches: U64Array
    smallest: U64Array
    """The anchor of each window."""

    width: int
    """Number of stretches in a window."""

    def values(self) -> U64Array:
        """Return the anchors of windows, mixed: minimums are small and not evenly spread."""
        return mixed(self.smallest)

    def by_position(self, firsts: Indices) -> U64Array:
        """Return an anchor for each position that has one, however many windows share it."""
        largest = np.zeros(len(self.stretches) + self.width - 1, np.uint64)
        largest[firsts + self.width - 1] = self.smallest
        # A hash that is the minimum of some window equals the largest minimum of all windows that
        # contain it.
        flipped = ~sliding_minimum(~largest, self.width)
        is_covered = covered_by_windows(firsts, len(self.stretches), self.width)
        chosen = is_covered & (flipped[: len(self.stretches)] == self.stretches)
        return mixed(self.stretches[chosen])


def covered_by_windows(firsts: Indices, count: int, width: int) -> Mask:
    """Return which stretches are in any window."""
    size = count + width + 1
    steps = np.bincount(firsts, minlength=size) - np.bincount(firsts + width, minlength=size)
    return np.asarray(np.cumsum(steps)[:count] > 0)


def find_windows(texts: Sequence[str | None], rule: PassageRule) -> Windows:
    units = find_units(texts, rule.unit, normalize=rule.normalize)
    count = max(0, len(units.texts) - rule.size + 1)
    inside = units.texts[:count] == units.texts[rule.size - 1 : rule.size - 1 + count]
    return Windows(units, rule.size, np.flatnonzero(inside))


def chunk_texts(texts: Sequence[str | None]) -> Iterator[slice]:
    """Yield slices of consecutive texts, small enough that data derived from them stays small."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        length = len(text or "")
        if place > start and size + length > _CHARACTERS:
            yield slice(start, place)
            start, size = place, 0
        size += length
    if start < len(texts):
        yield slice(start, len(texts))
