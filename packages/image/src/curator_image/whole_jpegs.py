"""Whole JPEGs: decode with simplejpeg if installed, in half the time and with equal results.

Pillow decodes to four bytes per pixel and copies them to three. If a JPEG is scaled down, this
hardly matters, because entropy decoding then dominates.
"""

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from curator_image.views import Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_image.opening import Encoded

_COLOURS = ("YCbCr", "Gray")


def decoded(data: "Encoded", size: tuple[int, int], mode: Mode) -> "NDArray[np.uint8] | None":
    """Decode all pixels of a plain JPEG of this size; return None to leave it to Pillow."""
    if not is_there():
        return None
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        if colours not in _COLOURS or (width, height) != size:
            return None
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, "RGB" if mode == "RGB" else "GRAY")
    except (ValueError, RuntimeError):  # damaged: Pillow reports all errors in one way
        return None
    return pixels if mode == "RGB" else pixels[..., 0]


@cache
def is_there() -> bool:
    return find_spec("simplejpeg") is not None
