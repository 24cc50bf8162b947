"""Views: the size and colours in which a stage needs a picture."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

MAX_PIXELS = 89_478_485
"""The number that Pillow opens without a warning: a quarter of a gigabyte in colour."""

Mode: TypeAlias = Literal["RGB", "L"]
Resampling: TypeAlias = Literal["bicubic", "lanczos", "bilinear", "box"]


@dataclass(frozen=True)
class View:
    """An upright picture at a size, in 8-bit RGB or grey (`L`).

    `short_side` scales the shorter side down to that length; smaller pictures are not enlarged.
    `box` scales to exactly (width, height), ignoring the aspect ratio. By default the size is kept.
    Pictures with more than `max_pixels` according to the header are not decoded.

    Stages share pixels if their views are equal. Use a common one if possible: `WORKING` for
    measuring, and for anything that resizes or crops again.
    """

    short_side: int | None = None
    box: tuple[int, int] | None = None
    mode: Mode = "RGB"
    resampling: Resampling = "bicubic"
    max_pixels: int = MAX_PIXELS

    def size_for(self, width: int, height: int) -> tuple[int, int]:
        """Return the size of the view for an upright picture of this size."""
        if self.box is not None:
            return self.box
        shorter = min(width, height)
        if self.short_side is None or shorter <= self.short_side:
            return width, height
        scale = self.short_side / shorter
        return max(1, round(width * scale)), max(1, round(height * scale))


WORKING = View(short_side=256)
"""The common view of stages without special needs: decoded once for all of them."""
