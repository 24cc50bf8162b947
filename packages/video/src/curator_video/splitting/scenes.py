"""Scenes: what lies between the ends of shots becomes clips of bearable lengths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

LongScenes: TypeAlias = Literal["stride", "truncate"]

Edges: TypeAlias = tuple[float, float]

_EPSILON = 1e-6


@dataclass(frozen=True)
class Lengths:
    """How long clips are, and what is taken away at both ends of a shot."""

    shortest: float = 2.0
    longest: float = 10.0
    long_scenes: LongScenes = "stride"
    crop: float = 0.5


class Scene:
    """A shot that may still go on. Clips are given away as soon as nothing can change them."""

    def __init__(self, start: float, lengths: Lengths) -> None:
        self._lengths = lengths
        self._next = start + lengths.crop
        self._is_full = False
        self.clips = 0

    @property
    def needs_from(self) -> float:
        """What was seen before this is of no use any more."""
        return float("inf") if self._is_full else self._next

    def reaches(self, time: float) -> Iterator[Edges]:
        """Clips that are complete now that the shot is known to go on up to `time`."""
        while self._next + self._lengths.longest + self._lengths.crop <= time + _EPSILON:
            if self._is_full:
                return
            yield self._give(self._next + self._lengths.longest)

    def ends(self, time: float) -> Iterator[Edges]:
        """The last clips: the shot ends at `time`."""
        yield from self.reaches(time)
        last = min(time - self._lengths.crop, self._next + self._lengths.longest)
        if not self._is_full and last - self._next >= self._lengths.shortest - _EPSILON:
            yield self._give(last)

    def _give(self, end: float) -> Edges:
        edges = (round(self._next, 6), round(end, 6))
        self._next = end
        self._is_full = self._lengths.long_scenes == "truncate"
        self.clips += 1
        return edges
