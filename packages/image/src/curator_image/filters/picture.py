"""Pictures as rules see them: values that are costly to compute are computed once for all rules."""

from dataclasses import dataclass

from curator_core import CuratorError

from curator_image.decoding import Encoded, Pixels, open_image, read_orientation
from curator_image.filters.pixel_statistics import Counts, count_levels, to_grey


@dataclass(frozen=True)
class ImageHeader:
    """Facts from a picture's header. Width and height are those of the upright picture."""

    width: int
    height: int
    format: str


class Picture:
    """One picture: its encoded bytes, its header, and its pixels in the current view."""

    __slots__ = ("_header", "_levels", "_pixels", "encoded")

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self._pixels: Pixels | None = None
        self._header: ImageHeader | None = None
        self._levels: Counts | None = None

    @property
    def header(self) -> ImageHeader:
        if self._header is None:
            self._header = _read_header(self.encoded)
        return self._header

    @property
    def pixels(self) -> Pixels:
        """Read-only pixels: height, width and 3 channels.

        At most 256 pixels on the shorter side, unless the rule has another view.
        """
        if self._pixels is None:
            raise CuratorError(
                "a rule without a view cannot use pixels; set view = WORKING in its class"
            )
        return self._pixels

    @property
    def grey(self) -> Pixels:
        return to_grey(self.pixels)

    @property
    def levels(self) -> Counts:
        """The number of pixels of each grey level."""
        if self._levels is None:
            self._levels = count_levels(self.grey)
        return self._levels

    def show(self, pixels: Pixels | None) -> None:
        """Set the pixels while a rule runs; None afterwards."""
        self._pixels = pixels


def _read_header(data: Encoded) -> ImageHeader:
    with open_image(data) as image:
        width, height = image.size
        if read_orientation(image) >= 5:
            width, height = height, width
        return ImageHeader(width, height, str(image.format).lower())
