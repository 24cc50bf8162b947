"""Films: scenes one after another, how each passes into the next, and where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np

from corpus.scenes import Motion, Pixels, Scene, Screen

Passage: TypeAlias = Literal["cut", "dissolve", "fade"]

_MOVING: tuple[Motion, ...] = ("pan", "zoom", "object", "still")


@dataclass(frozen=True)
class Shot:
    """So many pictures of one scene. `passage` leads into it, over `passing` pictures."""

    frames: int
    motion: Motion = "pan"
    passage: Passage = "cut"
    passing: int = 0
    flash: int | None = None
    """One picture of it that is lit up, which is no cut."""


@dataclass(frozen=True)
class Transition:
    """The truth: `at` is the first picture of the new scene, or the middle of the passage."""

    kind: Passage
    at: int
    frames: int


@dataclass(frozen=True)
class Film:
    shots: Sequence[Shot]
    seed: int = 1

    @property
    def frames(self) -> int:
        return sum(shot.frames for shot in self.shots)

    @property
    def transitions(self) -> list[Transition]:
        starts = list(accumulate(shot.frames for shot in self.shots))
        return [
            Transition(shot.passage, at, shot.passing)
            for shot, at in zip(self.shots[1:], starts, strict=False)
        ]

    def pictures(self, screen: Screen) -> Iterator[Pixels]:
        scenes = [
            Scene(shot.motion, screen, 1000 * self.seed + number)
            for number, shot in enumerate(self.shots)
        ]
        for number, shot in enumerate(self.shots):
            for index in range(shot.frames):
                picture = scenes[number].picture(index, shot.frames)
                picture = self._passing(picture, scenes, number, index)
                yield _lit(picture) if index == shot.flash else picture

    def _passing(self, picture: Pixels, scenes: Sequence[Scene], number: int, index: int) -> Pixels:
        """The picture mixed with its neighbour's, near the ends of its shot."""
        shot = self.shots[number]
        if shot.passing and index < shot.passing // 2:  # its own beginning
            before = self.shots[number - 1]
            other = scenes[number - 1].picture(before.frames - 1, before.frames)
            along = 0.5 + (index + 0.5) / shot.passing
            return _mixed(shot.passage, other, picture, along)
        if number + 1 < len(self.shots):
            after, left = self.shots[number + 1], shot.frames - index
            if after.passing and left <= after.passing // 2:
                other = scenes[number + 1].picture(0, after.frames)
                along = 0.5 - (left - 0.5) / after.passing
                return _mixed(after.passage, picture, other, along)
        return picture


def random_film(
    seconds: float,
    fps: int,
    seed: int,
    passages: Sequence[Passage] = ("cut",),
    lengths: tuple[float, float] = (1.5, 5.0),
) -> Film:
    """Shots of random lengths and movements, the same ones for the same seed."""
    dice = np.random.Generator(np.random.PCG64(seed))
    shots: list[Shot] = []
    left = int(seconds * fps)
    while left > 0:
        frames = int(dice.uniform(*lengths) * fps)
        frames = left if left - frames < lengths[0] * fps else frames
        passage = passages[int(dice.integers(len(passages)))]
        passing = 2 * int(dice.integers(4, 12)) if passage != "cut" and shots else 0
        flash = frames // 2 if len(passages) > 1 and dice.random() < 0.25 else None
        motion = _MOVING[int(dice.integers(len(_MOVING)))]
        shots.append(Shot(frames, motion, passage, passing, flash))
        left -= frames
    return Film(shots, seed)


def _mixed(passage: Passage, first: Pixels, second: Pixels, along: float) -> Pixels:
    one, other = first.astype(np.float32), second.astype(np.float32)
    if passage == "dissolve":
        return np.asarray(one * (1 - along) + other * along, np.uint8)
    return np.asarray(one * max(0, 1 - 2 * along) + other * max(0, 2 * along - 1), np.uint8)


def _lit(picture: Pixels) -> Pixels:
    return np.clip(picture.astype(np.int16) + 140, 0, 255).astype(np.uint8)
