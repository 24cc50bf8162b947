"""Rules over the pixels of a picture, at 256 pixels on its shorter side."""

from dataclasses import dataclass

from curator_image.measuring.filtering import RangeFilter
from curator_image.measuring.measures import uniformity
from curator_image.measuring.pictures import Picture
from curator_image.measuring.quantities import (
    BRIGHTNESS,
    COLOURFULNESS,
    CONTRAST,
    ENTROPY,
    SHARPNESS,
    UNIFORMITY,
)


@dataclass
class BlurFilter(RangeFilter):
    """Drops pictures without sharp edges: out of focus, shaken, enlarged from very small ones."""

    quantity = SHARPNESS

    min_sharpness: float = 100.0
    """The least variance of the Laplacian. Smooth skies are low too: look before you go above."""


@dataclass
class BrightnessFilter(RangeFilter):
    """Drops pictures that are nearly black or nearly white on the whole."""

    quantity = BRIGHTNESS

    min_brightness: float | None = 0.05
    """The least mean level, from 0 (black) to 1 (white)."""

    max_brightness: float | None = 0.97
    """The greatest mean level."""


@dataclass
class ContrastFilter(RangeFilter):
    """Drops pictures whose levels hardly differ: fog, veils, faded scans."""

    quantity = CONTRAST

    min_contrast: float = 0.05
    """The least standard deviation of levels, from 0 to 0.5."""


@dataclass
class EntropyFilter(RangeFilter):
    """Drops pictures whose levels tell too little: placeholders, plain logos."""

    quantity = ENTROPY

    min_entropy: float | None = 3.0
    """The fewest bits for each pixel, from 0 to 8."""

    max_entropy: float | None = None
    """The most bits for each pixel: noise has nearly 8."""


@dataclass
class UniformityFilter(RangeFilter):
    """Drops pictures that are one surface nearly everywhere: blank pages, plain backgrounds."""

    quantity = UNIFORMITY

    max_share: float = 0.9
    """The largest share of pixels within `width` neighbouring levels of grey."""

    width: int = 8
    """How many of 256 levels count as one."""

    def score(self, picture: Picture) -> float:
        return uniformity(picture.levels, min(max(self.width, 1), 256))


@dataclass
class ColorfulnessFilter(RangeFilter):
    """Drops pictures by how colourful they are: grey scans with a minimum, garish ones with a
    maximum."""

    quantity = COLOURFULNESS

    min_colorfulness: float | None = 2.0
    """The least of Hasler and Süsstrunk's measure: 0 is grey, 15 slightly, 45 averagely so."""

    max_colorfulness: float | None = None
    """The most of it: 109 is extremely colourful."""
