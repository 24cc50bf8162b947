"""Filters on the pixels of a picture, scaled to 256 pixels on its shorter side."""

from dataclasses import dataclass

from curator_image.filters.measures import (
    BRIGHTNESS,
    COLOURFULNESS,
    CONTRAST,
    ENTROPY,
    SHARPNESS,
    UNIFORMITY,
    MeasureFilter,
)
from curator_image.filters.picture import Picture
from curator_image.filters.pixel_statistics import uniformity


@dataclass
class BlurFilter(MeasureFilter):
    """Drop pictures without sharp edges: out of focus, shaken, or enlarged."""

    measure = SHARPNESS

    min_sharpness: float = 100.0
    """Minimum variance of the Laplacian. Smooth skies score low too: inspect drops before raising
    it."""


@dataclass
class BrightnessFilter(MeasureFilter):
    """Drop pictures that are nearly black or nearly white overall."""

    measure = BRIGHTNESS

    min_brightness: float | None = 0.05
    """Minimum mean level, from 0 (black) to 1 (white)."""

    max_brightness: float | None = 0.97
    """Maximum mean level."""


@dataclass
class ContrastFilter(MeasureFilter):
    """Drop pictures with low contrast: fog, haze, faded scans."""

    measure = CONTRAST

    min_contrast: float = 0.05
    """Minimum standard deviation of levels, from 0 to 0.5."""


@dataclass
class EntropyFilter(MeasureFilter):
    """Drop pictures with too little information: placeholders, plain logos."""

    measure = ENTROPY

    min_entropy: float | None = 3.0
    """Minimum bits per pixel, from 0 to 8."""

    max_entropy: float | None = None
    """Maximum bits per pixel. Noise has nearly 8."""


@dataclass
class UniformityFilter(MeasureFilter):
    """Drop pictures that are nearly uniform: blank pages, plain backgrounds."""

    measure = UNIFORMITY

    max_share: float = 0.9
    """Maximum share of pixels within `width` consecutive grey levels."""

    width: int = 8
    """Number of the 256 levels that count as one."""

    def score(self, picture: Picture) -> float:
        return uniformity(picture.levels, min(max(self.width, 1), 256))


@dataclass
class ColorfulnessFilter(MeasureFilter):
    """Drop pictures that are not colourful enough, or too colourful.

    A minimum drops grey scans, a maximum garish pictures.
    """

    measure = COLOURFULNESS

    min_colorfulness: float | None = 2.0
    """Minimum of Hasler and Süsstrunk's measure: 0 is grey, 15 slightly, 45 moderately so."""

    max_colorfulness: float | None = None
    """Maximum of the same measure: 109 is extremely colourful."""
