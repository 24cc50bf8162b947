"""Scenes: turn the spans between shot ends into clips of limited length."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

LongScenes: TypeAlias = Literal["stride", "truncate"]

Edges: TypeAlias = tuple[float, float]

_EPSILON = 1e-6


@dataclass(frozen=True)
class Lengths:
    """Length limits of clips, and the margin cropped at both ends of a shot."""

    shortest: float = 2.0
    longest: float = 10.0
    long_scenes: LongScenes = "stride"
    crop: float = 0.5


class Scene:
    """A shot that may continue. Clips are yielded as soon as they are final."""

    def __init__(self, start: float, lengths: Lengths) -> None:
        self._lengths = lengths
        self._next = start + lengths.crop
        self._is_full = False
        self.clips = 0

    @property
    def needs_from(self) -> float:
        """Observations from before this time are no longer needed."""
        return float("inf") if self._is_full else self._next

    def reaches(self, time: float) -> Iterator[Edges]:
        """Yield the clips that are final now that the shot is known to continue up to `time`."""
        while self._next + self._lengths.longest + self._lengths.crop <= time + _EPSILON:
            if self._is_full:
                return
            yield self._give(self._next + self._lengths.longest)

    def ends(self, time: float) -> Iterator[Edges]:
        """Yield the last clips: the shot ends at `time`."""
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
