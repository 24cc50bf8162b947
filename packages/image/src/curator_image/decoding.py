"""Decoding: turn encoded images of any format into upright pixels of the requested size.

    pixels = decode(data, View(short_side=224))     # uint8, height x width x 3
    grey = decode(data, View(box=(32, 32), mode="L"))  # uint8, 32 x 32

Only formats that Pillow decodes by itself are opened: not EPS, for example, which would start
Ghostscript. HEIF (`.heic`) needs `pillow-heif`, which the extra `heic` installs.

A JPEG is decoded at a fraction of its size if that is still at least twice the requested size,
then resized with antialiasing, in two steps if it is much larger. For photographs of 800 to 4000
pixels, the result differs from a full-size decode by a PSNR of 50 dB or more. A JPEG at full size
is decoded by simplejpeg if it is installed, in half the time and with equal results: Pillow decodes
to four bytes per pixel and copies them to three.

EXIF orientation is applied. Animations give their first frame. Transparent areas become white.
16-bit values keep their upper 8 bits. Floating-point values range from 0 to 1 if all of them are in
that range, else from their minimum to their maximum. CMYK, YCbCr and LAB use Pillow's formulas,
without colour profiles. All errors are raised as `ImageDecodeError`. The result depends only on the
bytes and the view.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from curator_core.errors import InputError
from numpy.typing import NDArray

from curator_image.file_formats import detect_format
from curator_image.pixel_view import MAX_PIXELS, Mode, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

PILLOW_FORMATS = (
    "JPEG", "PNG", "WEBP", "GIF", "AVIF", "TIFF", "BMP", "PPM", "JPEG2000", "ICO", "ICNS",
    "DDS", "DIB", "PCX", "PSD", "QOI", "SGI", "SPIDER", "TGA", "XBM", "XPM", "IM", "BLP", "DCX",
    "HEIF",
)  # fmt: skip

_BYTE_COUNT = re.compile(r" \(\d+ bytes not processed\)")
"""A detail of error messages that would make each damaged picture a separate reason."""

Encoded: TypeAlias = bytes | bytearray | memoryview


class ImageDecodeError(InputError):
    """The bytes are not an image, are damaged, or the picture is too large."""

    def without_traceback(self) -> "ImageDecodeError":
        """Return the error without its traceback, which would keep pixels in memory."""
        return ImageDecodeError(str(self))


@contextmanager
def open_image(data: Encoded, max_pixels: int = MAX_PIXELS) -> "Iterator[Image.Image]":
    """Open a picture without decoding its pixels; raise ImageDecodeError for any error inside."""
    if not memoryview(data).nbytes:
        raise ImageDecodeError("the image is empty")
    try:
        with _open_with_pillow(data) as image:
            _refuse_large(image.size, max_pixels)
            yield image
    except ImageDecodeError:
        raise
    except MemoryError:
        raise ImageDecodeError("the image needs more memory than is available") from None
    except Exception as error:  # decoders raise arbitrary errors
        raise ImageDecodeError(_describe_error(error, data)) from error


def _open_with_pillow(data: Encoded) -> "Image.Image":
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
    return tuple(name for name in PILLOW_FORMATS if name in Image.OPEN)


def _refuse_large(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise ImageDecodeError(f"{width} x {height} pixels exceed the limit of {max_pixels:,}")


def _describe_error(error: Exception, data: Encoded) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        if detect_format(memoryview(data)) == "HEIF":
            return _heif_problem()
        return "it is not an image of a known format"
    if isinstance(error, Image.DecompressionBombError):
        return "it exceeds Pillow's size limit (a decompression bomb?)"
    lines = _BYTE_COUNT.sub("", str(error)).strip().splitlines()
    return f"damaged image: {lines[0][:200] if lines else type(error).__name__}"


def _heif_problem() -> str:
    if "HEIF" in _known_formats():
        return "damaged image: its HEIF data cannot be read"
    return "it is HEIF (.heic), which needs pillow-heif: pip install 'curator-image[heic]'"


Pixels: TypeAlias = NDArray[np.uint8]
_Box: TypeAlias = tuple[float, float, float, float]

_ORIENTATION = 0x0112
_MIN_DRAFT_FACTOR = 2
"""Minimum factor by which a decoded JPEG must exceed the requested size: less would be visible."""

_REDUCING_GAP = 1.6
"""If a JPEG was not decoded smaller, halve it (or more) first while it exceeds the requested size
by this factor; otherwise resizing takes most of the time. Not for hashes, which use lanczos."""


def decode(data: Encoded, view: View = View()) -> Pixels:  # noqa: B008 - it is frozen
    """Return the pixels that `view` asks for: (height, width, 3), or (height, width) for grey.

    The array may be shared with other stages and is read-only: copy it to change it.
    """
    with open_image(data, view.max_pixels) as image:
        orientation = read_orientation(image)
        if orientation == 1 and _is_plain_jpeg(image) and view.size_for(*image.size) == image.size:
            pixels = decode_with_simplejpeg(data, image.size, view.mode)
            if pixels is not None:
                pixels.flags.writeable = False
                return pixels
        return np.asarray(_decode_opened(image, orientation, view))


def decode_to_pillow(data: Encoded, view: View = View()) -> "Image.Image":  # noqa: B008 - it is frozen
    """Return the same as a Pillow image, for stages that use Pillow."""
    with open_image(data, view.max_pixels) as image:
        return _decode_opened(image, read_orientation(image), view)


def _decode_opened(image: "Image.Image", orientation: int, view: View) -> "Image.Image":
    turned = orientation >= 5
    width, height = image.size[::-1] if turned else image.size
    upright = view.size_for(width, height)
    target = upright[::-1] if turned else upright
    full = image.size
    box = _draft_jpeg(image, view, target)
    image.load()
    fitting = convert_mode(image, view.mode)
    if fitting.size != target:
        gap = _REDUCING_GAP if view.resampling == "bicubic" and fitting.size == full else None
        fitting = fitting.resize(target, _resampling_filter(view), box, gap)
    return _turn_upright(fitting, orientation)


def read_orientation(image: "Image.Image") -> int:
    """Return the EXIF orientation, 1 to 8, of the image as Pillow decodes it; 1 is upright."""
    if image.format == "TIFF":  # Pillow already rotates these, including their size
        return 1
    try:
        found: Any = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - damaged EXIF data must not fail a picture
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _draft_jpeg(image: "Image.Image", view: View, target: tuple[int, int]) -> _Box | None:
    """Let the JPEG decoder scale down or skip colours if the view allows it.

    Decoded sizes are whole pixels, so the last one may be partial: the box is the exact extent.
    """
    if not _is_plain_jpeg(image):
        return None
    width, height = target
    mode = view.mode if image.mode == "RGB" else None
    made = image.draft(mode, (width * _MIN_DRAFT_FACTOR, height * _MIN_DRAFT_FACTOR))
    return None if made is None else made[1]


def _is_plain_jpeg(image: "Image.Image") -> bool:
    return image.format in ("JPEG", "MPO") and image.mode in ("RGB", "L")


def _resampling_filter(view: View) -> "Image.Resampling":
    from PIL import Image

    return Image.Resampling[view.resampling.upper()]


def _turn_upright(image: "Image.Image", orientation: int) -> "Image.Image":
    from PIL.Image import Transpose

    ways = (None, None, Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM,
            Transpose.TRANSPOSE, Transpose.ROTATE_270, Transpose.TRANSVERSE,
            Transpose.ROTATE_90)  # fmt: skip
    way = ways[orientation]
    return image if way is None else image.transpose(way)


_WHITE = (255, 255, 255, 255)


def convert_mode(image: "Image.Image", mode: Mode) -> "Image.Image":
    if image.mode == mode and "transparency" not in image.info:
        return image
    if image.mode == "F" or image.mode.startswith("I"):
        return _to_8_bits(image).convert(mode)
    if image.has_transparency_data:
        image = _flatten_on_white(image)
    return image if image.mode == mode else image.convert(mode)


def _flatten_on_white(image: "Image.Image") -> "Image.Image":
    from PIL import Image

    layered = image.convert("RGBA")
    ground = Image.new("RGBA", layered.size, _WHITE)
    return Image.alpha_composite(ground, layered).convert("RGB")


def _to_8_bits(image: "Image.Image") -> "Image.Image":
    """Convert grey of more than 8 bits. Pillow alone would clip values above 255."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    if image.mode == "F":
        return Image.fromarray(_stretch_to_8_bits(values))
    wide = values.astype(np.int64) if values.dtype.kind in "iu" else values
    shift = 16 if int(wide.max(initial=0)) > 0xFFFF else 8
    return Image.fromarray((np.clip(wide, 0, None) >> shift).clip(0, 255).astype(np.uint8))


def _stretch_to_8_bits(values: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    lowest, highest = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if lowest >= 0.0 and highest <= 1.0:
        lowest, highest = 0.0, 1.0
    return np.asarray(((finite - lowest) / (highest - lowest or 1.0) * 255).round(), np.uint8)


_SIMPLEJPEG_COLOURS = ("YCbCr", "Gray")


def decode_with_simplejpeg(
    data: "Encoded", size: tuple[int, int], mode: Mode
) -> "NDArray[np.uint8] | None":
    """Decode all pixels of a plain JPEG of this size; return None to leave it to Pillow."""
    if not has_simplejpeg():
        return None
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        if colours not in _SIMPLEJPEG_COLOURS or (width, height) != size:
            return None
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, "RGB" if mode == "RGB" else "GRAY")
    except (ValueError, RuntimeError):  # damaged: Pillow reports all errors in one way
        return None
    return pixels if mode == "RGB" else pixels[..., 0]


@cache
def has_simplejpeg() -> bool:
    return find_spec("simplejpeg") is not None
