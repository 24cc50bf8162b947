"""Decoding: bytes of any format become pixels, upright, at the size that is wanted.

    pixels = decode(data, View(short_side=224))     # uint8, height x width x 3
    grey = decode(data, View(box=(32, 32), mode="L"))  # uint8, 32 x 32

A JPEG is decoded at a fraction of its size where that is still at least twice what is wanted, then
resized with antialiasing, in two steps where it is much larger: 50 dB or more to what doing all of
it in full would give, for photographs of 800 to 4000 pixels.
EXIF orientation is applied. Of animations it is the first frame. `UndecodableError` says what is
wrong, always: no other error leaves here. Whatever the bytes, the result depends on them and on the
view alone.
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
"""How many times larger than wanted a JPEG is decoded: with less, resizing would show."""

_GAP = 1.6
"""What its decoder did not make smaller is halved, or more, where it is still so many times larger
than wanted then: most of the time would go into resizing. Hashes ask for lanczos, and all of it."""


def decode(data: Encoded, view: View = View()) -> Pixels:  # noqa: B008 - it is frozen
    """The pixels of a picture as `view` wants them: (height, width, 3), or (height, width) of grey.

    The array may be shared with other stages and cannot be written to: copy it first.
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
    """The same as a Pillow image, for stages that go on with Pillow."""
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
    """How to turn what Pillow decodes: 1 to 8 as EXIF counts, 1 where it is upright."""
    if image.format == "TIFF":  # Pillow turns these itself, in their size as well
        return 1
    try:
        found: Any = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - a picture is fine whatever its EXIF data look like
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _hurry(image: "Image.Image", view: View, target: tuple[int, int]) -> Box | None:
    """Let a JPEG's decoder make a smaller picture, or one without colours, if that will do.

    What it makes has whole pixels, and the last may stand for less: the box says how far it goes.
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
