"""Conversion of any picture mode to 8-bit RGB or grey.

Transparent areas become white. 16-bit values keep their upper 8 bits. Floating-point values range
from 0 to 1 if all of them are in that range, else from their minimum to their maximum. CMYK, YCbCr
and LAB use Pillow's formulas, without colour profiles.
"""

from typing import TYPE_CHECKING, Any

from curator_image.views import Mode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

_WHITE = (255, 255, 255, 255)


def converted(image: "Image.Image", mode: Mode) -> "Image.Image":
    if image.mode == mode and "transparency" not in image.info:
        return image
    if image.mode == "F" or image.mode.startswith("I"):
        return _eight_bits(image).convert(mode)
    if image.has_transparency_data:
        image = _on_white(image)
    return image if image.mode == mode else image.convert(mode)


def _on_white(image: "Image.Image") -> "Image.Image":
    from PIL import Image

    layered = image.convert("RGBA")
    ground = Image.new("RGBA", layered.size, _WHITE)
    return Image.alpha_composite(ground, layered).convert("RGB")


def _eight_bits(image: "Image.Image") -> "Image.Image":
    """Convert grey of more than 8 bits. Pillow alone would clip values above 255."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    if image.mode == "F":
        return Image.fromarray(_stretched(values))
    wide = values.astype(np.int64) if values.dtype.kind in "iu" else values
    shift = 16 if int(wide.max(initial=0)) > 0xFFFF else 8
    return Image.fromarray((np.clip(wide, 0, None) >> shift).clip(0, 255).astype(np.uint8))


def _stretched(values: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    least, most = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if least >= 0.0 and most <= 1.0:
        least, most = 0.0, 1.0
    return np.asarray(((finite - least) / (most - least or 1.0) * 255).round(), np.uint8)
