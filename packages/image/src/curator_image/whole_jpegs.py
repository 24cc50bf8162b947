"""Whole JPEGs: decoded by simplejpeg where it is installed, in half of the time, to the same bits.

Pillow goes through pixels of four bytes, which are copied into those of three. Where a JPEG is to
become smaller this hardly shows, for then most of the time goes into its codes.
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
    """All pixels of a plain JPEG of this size; None where Pillow is to have a look at it."""
    if not is_there():
        return None
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        if colours not in _COLOURS or (width, height) != size:
            return None
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, "RGB" if mode == "RGB" else "GRAY")
    except (ValueError, RuntimeError):  # damaged, however little: what is said of it is one matter
        return None
    return pixels if mode == "RGB" else pixels[..., 0]


@cache
def is_there() -> bool:
    return find_spec("simplejpeg") is not None
