"""Opening images: read the header of encoded bytes and check the size.

Only formats that Pillow decodes by itself are opened: not EPS, for example, which would start
Ghostscript. HEIF (`.heic`) needs `pillow-heif`, which the extra `heic` installs.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from curator_core.errors import InputError

from curator_image.endings import format_of
from curator_image.views import MOST_PIXELS

if TYPE_CHECKING:
    from PIL import Image

FORMATS = (
    "JPEG", "PNG", "WEBP", "GIF", "AVIF", "TIFF", "BMP", "PPM", "JPEG2000", "ICO", "ICNS",
    "DDS", "DIB", "PCX", "PSD", "QOI", "SGI", "SPIDER", "TGA", "XBM", "XPM", "IM", "BLP", "DCX",
    "HEIF",
)  # fmt: skip

_ONE_OF_MANY = re.compile(r" \(\d+ bytes not processed\)")
"""A detail of error messages that would make each damaged picture a separate reason."""

Encoded: TypeAlias = bytes | bytearray | memoryview


class UndecodableError(InputError):
    """The bytes are not an image, are damaged, or the picture is too large."""

    def bare(self) -> "UndecodableError":
        """Return the error without its traceback, which would keep pixels in memory."""
        return UndecodableError(str(self))


@contextmanager
def opened(data: Encoded, max_pixels: int = MOST_PIXELS) -> "Iterator[Image.Image]":
    """Open a picture without decoding its pixels; raise UndecodableError for any error inside."""
    if not memoryview(data).nbytes:
        raise UndecodableError("the image has no bytes at all")
    try:
        with _open(data) as image:
            _refuse_large(image.size, max_pixels)
            yield image
    except UndecodableError:
        raise
    except MemoryError:
        raise UndecodableError("the image needs more memory than there is") from None
    except Exception as error:  # decoders raise arbitrary errors
        raise UndecodableError(_told(error, data)) from error


def _open(data: Encoded) -> "Image.Image":
    from PIL import Image

    with warnings.catch_warnings():  # about sizes, which are checked here, and odd metadata
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(data), formats=_known_formats())


@cache
def _known_formats() -> tuple[str, ...]:
    """Return the supported formats that this Pillow has; JPEG includes MPO."""
    from PIL import Image

    Image.init()
    if find_spec("pillow_heif"):
        import pillow_heif

        pillow_heif.register_heif_opener(thumbnails=False, decode_threads=1)
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _refuse_large(size: tuple[int, int], most: int) -> None:
    width, height = size
    if width * height > most:
        raise UndecodableError(
            f"{width} x {height} is more than {most:,} pixels, the most that are decoded here"
        )


def _told(error: Exception, data: Encoded) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        if format_of(memoryview(data)) == "HEIF":
            return _heif_problem()
        return "it is no image of a known format"
    if isinstance(error, Image.DecompressionBombError):
        return "it is larger than Pillow opens (a decompression bomb?)"
    said = _ONE_OF_MANY.sub("", str(error)).strip().splitlines()
    return f"damaged image: {said[0][:200] if said else type(error).__name__}"


def _heif_problem() -> str:
    if "HEIF" in _known_formats():
        return "damaged image: its HEIF data cannot be read"
    return "it is HEIF (.heic), which needs: pip install 'curator-image[heic]'"
