"""Scenes of made-up videos: a picture larger than the screen, and a camera that moves over it.

Every pixel follows from the seed, by whole numbers and plain arithmetic alone.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]
Motion: TypeAlias = Literal["pan", "zoom", "object", "still", "frozen", "black", "blurred"]

_BLOBS = 14
_GRAIN = 6


@dataclass(frozen=True)
class Screen:
    width: int
    height: int


class Scene:
    """One place that is filmed for a while. The seed decides what is to be seen there."""

    def __init__(self, motion: Motion, screen: Screen, seed: int) -> None:
        self._motion = motion
        self._screen = screen
        self._dice = np.random.Generator(np.random.PCG64(seed))
        self._from, self._to = self._dice.random(2), self._dice.random(2)
        if abs(self._from - self._to).max() < 0.4:  # far enough apart to be a movement
            self._to = (self._from + 0.5) % 1
        self._canvas = self._painted()
        self._grain = self._dice.integers(-_GRAIN, _GRAIN + 1, (8, *self._shape(1)), np.int16)

    def picture(self, number: int, count: int) -> Pixels:
        """What the camera sees in the given one of `count` pictures."""
        if self._motion == "black":
            return np.zeros(self._shape(1), np.uint8)
        along = number / max(1, count - 1)
        seen = self._seen(along)
        if self._motion == "object":
            self._draw_ball(seen, along)
        grain = self._grain[0 if self._motion == "frozen" else number % len(self._grain)]
        if self._motion == "blurred":
            return seen
        return np.clip(seen.astype(np.int16) + grain, 0, 255).astype(np.uint8)

    def _shape(self, times: int) -> tuple[int, int, int]:
        return self._screen.height * times, self._screen.width * times, 3

    def _seen(self, along: float) -> Pixels:
        height, width, _ = self._shape(1)
        if self._motion == "zoom":
            scale = 1 + along
            rows = (np.arange(height) * scale).astype(int)
            columns = (np.arange(width) * scale).astype(int)
            return self._canvas[np.ix_(rows, columns)].copy()
        moves = along if self._motion in ("pan", "blurred") else 0.0
        at = self._from + (self._to - self._from) * moves
        top, left = int(at[0] * height), int(at[1] * width)
        return self._canvas[top : top + height, left : left + width].copy()

    def _painted(self) -> Pixels:
        """A sky of two colours with blobs and bars before it."""
        height, width, _ = self._shape(2)
        high, low = self._dice.integers(20, 236, (2, 3)).astype(np.float64)
        slope = np.linspace(0, 1, height)[:, None, None]
        canvas = np.broadcast_to(high * (1 - slope) + low * slope, (height, width, 3)).copy()
        rows, columns = np.ogrid[:height, :width]
        sharp = self._motion != "blurred"
        for _ in range(_BLOBS if sharp else 4):
            row, column = self._dice.random(2) * (height, width)
            radius = (0.04 + 0.16 * self._dice.random()) * height
            away = ((rows - row) ** 2 + (columns - column) ** 2) / radius**2
            weight = (away < 1) if sharp else np.exp(-away / 4)
            colour = self._dice.integers(0, 256, 3)
            canvas = canvas * (1 - weight[..., None]) + colour * weight[..., None]
        if sharp:
            self._paint_bars(canvas)
        return canvas.astype(np.uint8)

    def _paint_bars(self, canvas: NDArray[np.float64]) -> None:
        height, width, _ = canvas.shape
        for _ in range(5):
            left = int(self._dice.random() * width * 0.95)
            top = int(self._dice.random() * height * 0.8)
            thickness = max(2, int(width * 0.02))
            canvas[top:, left : left + thickness] = self._dice.integers(0, 256, 3)

    def _draw_ball(self, picture: Pixels, along: float) -> None:
        height, width, _ = picture.shape
        rows, columns = np.ogrid[:height, :width]
        row, column = height * (0.3 + 0.4 * along), width * (0.1 + 0.8 * along)
        inside = (rows - row) ** 2 + (columns - column) ** 2 < (height / 7) ** 2
        picture[inside] = (240, 200, 40)
