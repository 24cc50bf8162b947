"""Views: how large, and in which colours, a stage wants to see a picture."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

MOST_PIXELS = 89_478_485
"""As many as Pillow opens without a warning: a quarter of a gigabyte in colour."""

Mode: TypeAlias = Literal["RGB", "L"]
Resampling: TypeAlias = Literal["bicubic", "lanczos", "bilinear", "box"]


@dataclass(frozen=True)
class View:
    """The picture upright, at a size, in RGB or in grey (`L`), 8 bits each.

    With `short_side` the shorter side gets that length, and nothing is ever enlarged. With `box`
    it becomes exactly (width, height), its ratio lost. With neither it stays as it is. Pictures of
    more than `max_pixels`, as their header says, are not decoded at all.

    Stages share pixels where their views are equal, so ask for a usual one: `WORKING` for
    measuring, and for whatever resizes or crops again.
    """

    short_side: int | None = None
    box: tuple[int, int] | None = None
    mode: Mode = "RGB"
    resampling: Resampling = "bicubic"
    max_pixels: int = MOST_PIXELS

    def size_for(self, width: int, height: int) -> tuple[int, int]:
        """What an upright picture of this size becomes."""
        if self.box is not None:
            return self.box
        shorter = min(width, height)
        if self.short_side is None or shorter <= self.short_side:
            return width, height
        scale = self.short_side / shorter
        return max(1, round(width * scale)), max(1, round(height * scale))


WORKING = View(short_side=256)
"""What stages agree on that have no need of another: decoded once for all of them."""
