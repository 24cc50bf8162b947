"""Decoding: turn encoded images of any format into upright pixels of the requested size.

    pixels = decode(data, View(short_side=224))     # uint8, height x width x 3
    grey = decode(data, View(box=(32, 32), mode="L"))  # uint8, 32 x 32

A JPEG is decoded at a fraction of its size if that is still at least twice the wanted size, then
resized with antialiasing, in two steps if it is much larger. For photographs of 800 to 4000 pixels,
the result differs from a full-size decode by a PSNR of 50 dB or more.

EXIF orientation is applied. Animations give their first frame. All errors are raised as
`UndecodableError`. The result depends only on the bytes and the view.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from curator_image import whole_jpegs
from curator_image.converting import converted
from curator_image.opening import Encoded, UndecodableError, opened
from curator_image.views import View

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Encoded", "Pixels", "UndecodableError", "decode", "orientation_of", "picture"]

Pixels: TypeAlias = NDArray[np.uint8]
Box: TypeAlias = tuple[float, float, float, float]

_ORIENTATION = 0x0112
_DRAFT = 2
"""Minimum factor by which a decoded JPEG must exceed the wanted size: less would be visible."""

_GAP = 1.6
"""If a JPEG was not decoded smaller, halve it (or more) first while it exceeds the wanted size by
this factor; otherwise resizing takes most of the time. Not for hashes, which use lanczos."""


def decode(data: Encoded, view: View = View()) -> Pixels:  # noqa: B008 - it is frozen
    """Return the pixels that `view` asks for: (height, width, 3), or (height, width) for grey.

    The array may be shared with other stages and is read-only: copy it to change it.
    """
    with opened(data, view.max_pixels) as image:
        orientation = orientation_of(image)
        if orientation == 1 and _is_plain_jpeg(image) and view.size_for(*image.size) == image.size:
            pixels = whole_jpegs.decoded(data, image.size, view.mode)
            if pixels is not None:
                pixels.flags.writeable = False
                return pixels
        return np.asarray(_made(image, orientation, view))


def picture(data: Encoded, view: View = View()) -> "Image.Image":  # noqa: B008 - it is frozen
    """Return the same as a Pillow image, for stages that use Pillow."""
    with opened(data, view.max_pixels) as image:
        return _made(image, orientation_of(image), view)


def _made(image: "Image.Image", orientation: int, view: View) -> "Image.Image":
    turned = orientation >= 5
    width, height = image.size[::-1] if turned else image.size
    upright = view.size_for(width, height)
    target = upright[::-1] if turned else upright
    full = image.size
    box = _hurry(image, view, target)
    image.load()
    fitting = converted(image, view.mode)
    if fitting.size != target:
        gap = _GAP if view.resampling == "bicubic" and fitting.size == full else None
        fitting = fitting.resize(target, _filter(view), box, gap)
    return _upright(fitting, orientation)


def orientation_of(image: "Image.Image") -> int:
    """Return the EXIF orientation, 1 to 8, of the image as Pillow decodes it; 1 is upright."""
    if image.format == "TIFF":  # Pillow already rotates these, including their size
        return 1
    try:
        found: Any = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - damaged EXIF data must not fail a picture
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _hurry(image: "Image.Image", view: View, target: tuple[int, int]) -> Box | None:
    """Let the JPEG decoder scale down or skip colours if the view allows it.

    Decoded sizes are whole pixels, so the last one may be partial: the box is the exact extent.
    """
    if not _is_plain_jpeg(image):
        return None
    width, height = target
    mode = view.mode if image.mode == "RGB" else None
    made = image.draft(mode, (width * _DRAFT, height * _DRAFT))
    return None if made is None else made[1]


def _is_plain_jpeg(image: "Image.Image") -> bool:
    return image.format in ("JPEG", "MPO") and image.mode in ("RGB", "L")


def _filter(view: View) -> "Image.Resampling":
    from PIL import Image

    return Image.Resampling[view.resampling.upper()]


def _upright(image: "Image.Image", orientation: int) -> "Image.Image":
    from PIL.Image import Transpose

    ways = (None, None, Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM,
            Transpose.TRANSPOSE, Transpose.ROTATE_270, Transpose.TRANSVERSE,
            Transpose.ROTATE_90)  # fmt: skip
    way = ways[orientation]
    return image if way is None else image.transpose(way)
