"""Quantities: the measures of pictures, defined once for columns and filters."""

from collections.abc import Callable
from typing import Any, NamedTuple

from curator_image.measuring.measures import (
    brightness,
    colourfulness,
    contrast,
    entropy,
    sharpness,
    uniformity,
)
from curator_image.measuring.pictures import Picture
from curator_image.views import WORKING, View


class Quantity(NamedTuple):
    """A measure: its name in reasons, its function, its Arrow type, and its view (if any)."""

    thing: str
    of: Callable[[Picture], Any]
    kind: str = "double"
    view: View | None = WORKING


WIDTH = Quantity("width", lambda picture: picture.header.width, "int64", None)
HEIGHT = Quantity("height", lambda picture: picture.header.height, "int64", None)
FORMAT = Quantity("format", lambda picture: picture.header.format, "string", None)
BYTES = Quantity("bytes", lambda picture: memoryview(picture.encoded).nbytes, "int64", None)

SHORTER = Quantity(
    "shorter side", lambda picture: min(picture.header.width, picture.header.height), view=None
)
COUNT = Quantity(
    "number of pixels", lambda picture: picture.header.width * picture.header.height, view=None
)
RATIO = Quantity("longer to shorter side", lambda picture: _ratio(picture), view=None)

SHARPNESS = Quantity("sharpness", lambda picture: sharpness(picture.grey))
BRIGHTNESS = Quantity("brightness", lambda picture: brightness(picture.levels))
CONTRAST = Quantity("contrast", lambda picture: contrast(picture.levels))
ENTROPY = Quantity("entropy", lambda picture: entropy(picture.levels))
UNIFORMITY = Quantity("share of one level", lambda picture: uniformity(picture.levels, 8))
COLOURFULNESS = Quantity("colourfulness", lambda picture: colourfulness(picture.pixels))


def _ratio(picture: Picture) -> float:
    sides = picture.header.width, picture.header.height
    return max(sides) / min(sides)
