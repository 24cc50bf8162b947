"""Filters on header and file size, which do not decode pixels."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core.errors import hint

from curator_image.decoding import PILLOW_FORMATS
from curator_image.filters.base import ImageFilter
from curator_image.filters.measures import BYTES, COUNT, RATIO, SHORTER, MeasureFilter
from curator_image.filters.picture import Picture

_FORMAT_NAMES = tuple(name.lower() for name in PILLOW_FORMATS)


@dataclass
class SizeFilter(MeasureFilter):
    """Drop pictures whose shorter side has too few or too many pixels."""

    measure = SHORTER

    min_side: int | None = 256
    """Minimum number of pixels of the shorter side."""

    max_side: int | None = None
    """Maximum number of pixels of the shorter side."""


@dataclass
class PixelCountFilter(MeasureFilter):
    """Drop pictures with too few or too many pixels in total."""

    measure = COUNT

    min_pixels: int | None = 65536
    """Minimum of width times height."""

    max_pixels: int | None = None
    """Maximum of width times height."""


@dataclass
class AspectRatioFilter(MeasureFilter):
    """Drop pictures that are too long and narrow: banners, columns, rulers."""

    measure = RATIO

    max_ratio: float = 3.0
    """Maximum ratio of the longer side to the shorter one."""


@dataclass
class FileSizeFilter(MeasureFilter):
    """Drop pictures whose encoded files have too few or too many bytes."""

    measure = BYTES

    min_bytes: int | None = 5000
    """Minimum number of bytes."""

    max_bytes: int | None = None
    """Maximum number of bytes."""


@dataclass
class FormatFilter(ImageFilter):
    """Drop pictures of other formats. The format is detected from the content."""

    view = None
    score_kind: ClassVar[str] = "string"

    formats: list[str] = field(default_factory=lambda: ["jpeg", "png", "webp"])
    """Formats to keep, by their Pillow names: jpeg, png, webp, gif, avif, tiff, bmp …"""

    @property
    def reason(self) -> str:
        return f"not {', '.join(self.formats)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        for name in self.formats:
            if name.lower() not in _FORMAT_NAMES:
                yield f"formats contains {name!r}{hint(name, _FORMAT_NAMES)}"

    def score(self, picture: Picture) -> str:
        return picture.header.format

    def keeps(self, score: str) -> bool:
        return score in [name.lower() for name in self.formats]
