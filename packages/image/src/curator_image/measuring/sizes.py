"""Rules over what the header and the bytes say; pixels are not decoded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core.errors import hint

from curator_image.measuring.filtering import ImageFilter, RangeFilter
from curator_image.measuring.pictures import Picture
from curator_image.measuring.quantities import BYTES, COUNT, RATIO, SHORTER
from curator_image.opening import FORMATS

_KNOWN = tuple(name.lower() for name in FORMATS)


@dataclass
class SizeFilter(RangeFilter):
    """Drops pictures whose shorter side has too few or too many pixels."""

    quantity = SHORTER

    min_side: int | None = 256
    """The fewest pixels of the shorter side."""

    max_side: int | None = None
    """The most pixels of the shorter side."""


@dataclass
class PixelCountFilter(RangeFilter):
    """Drops pictures with too few or too many pixels in all."""

    quantity = COUNT

    min_pixels: int | None = 65536
    """The least width times height."""

    max_pixels: int | None = None
    """The greatest width times height."""


@dataclass
class AspectRatioFilter(RangeFilter):
    """Drops pictures that are too long and narrow either way: banners, columns, rulers."""

    quantity = RATIO

    max_ratio: float = 3.0
    """The most times that the longer side may be as long as the shorter."""


@dataclass
class FileSizeFilter(RangeFilter):
    """Drops pictures of too few or too many bytes as they are encoded."""

    quantity = BYTES

    min_bytes: int | None = 5000
    """The fewest bytes."""

    max_bytes: int | None = None
    """The most bytes."""


@dataclass
class FormatFilter(ImageFilter):
    """Drops pictures of other formats, whatever their names end in."""

    view = None
    score_kind: ClassVar[str] = "string"

    formats: list[str] = field(default_factory=lambda: ["jpeg", "png", "webp"])
    """The formats that stay, as Pillow calls them: jpeg, png, webp, gif, avif, tiff, bmp …"""

    @property
    def reason(self) -> str:
        return f"not {', '.join(self.formats)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        for name in self.formats:
            if name.lower() not in _KNOWN:
                yield f"formats names {name!r}{hint(name, _KNOWN)}"

    def score(self, picture: Picture) -> str:
        return picture.header.format

    def keeps(self, score: str) -> bool:
        return score in [name.lower() for name in self.formats]
