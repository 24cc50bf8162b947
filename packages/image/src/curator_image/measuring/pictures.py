"""Pictures as rules see them: values that are costly to compute are computed once for all rules."""

from dataclasses import dataclass

from curator_core import CuratorError

from curator_image.decoding import Encoded, Pixels, orientation_of
from curator_image.measuring.measures import Counts, grey_of, level_counts
from curator_image.opening import opened


@dataclass(frozen=True)
class Header:
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
        self._header: Header | None = None
        self._levels: Counts | None = None

    @property
    def header(self) -> Header:
        if self._header is None:
            self._header = _header_of(self.encoded)
        return self._header

    @property
    def pixels(self) -> Pixels:
        """Read-only pixels: height, width and 3 channels.

        At most 256 pixels on the shorter side, unless the rule has another view.
        """
        if self._pixels is None:
            raise CuratorError("a rule without a view looks at pixels; give it view = WORKING")
        return self._pixels

    @property
    def grey(self) -> Pixels:
        return grey_of(self.pixels)

    @property
    def levels(self) -> Counts:
        """The number of pixels of each grey level."""
        if self._levels is None:
            self._levels = level_counts(self.grey)
        return self._levels

    def show(self, pixels: Pixels | None) -> None:
        """Set the pixels while a rule runs; None afterwards."""
        self._pixels = pixels


def _header_of(data: Encoded) -> Header:
    with opened(data) as image:
        width, height = image.size
        if orientation_of(image) >= 5:
            width, height = height, width
        return Header(width, height, str(image.format).lower())
