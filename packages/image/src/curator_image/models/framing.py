"""Framing: scale and normalize pixels for a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_models.locating import settings_in

from curator_image.decoding import Pixels
from curator_image.views import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Three: TypeAlias = tuple[float, float, float]

_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class Framing:
    """The size and normalization of pictures that a network was trained with."""

    size: int
    mean: Three
    std: Three
    crops: bool = True
    """Whether the network sees the centre of a picture; else all of it, squeezed to a square."""
    larger: int | None = None
    """Length of the shorter side before cropping if it exceeds `size`."""

    @property
    def view(self) -> View:
        return View(short_side=self.larger or self.size)

    def square(self, pixels: Pixels) -> Pixels:
        """Return the picture as a square of this size."""
        import numpy as np
        from PIL import Image

        height, width = pixels.shape[:2]
        if not self.crops:
            return np.asarray(Image.fromarray(pixels).resize((self.size, self.size), _BICUBIC))
        side = self.larger or self.size
        if min(height, width) != side:
            scale = side / min(height, width)
            width, height = max(side, round(width * scale)), max(side, round(height * scale))
            pixels = np.asarray(Image.fromarray(pixels).resize((width, height), _BICUBIC))
        top, left = (height - self.size) // 2, (width - self.size) // 2
        return pixels[top : top + self.size, left : left + self.size]

    def arrays(self, pictures: Sequence[Pixels]) -> "NDArray[np.float32]":
        """Return normalized pictures in channel, row, column order."""
        import numpy as np

        stacked = np.stack([self.square(pixels) for pixels in pictures])
        scale = (1.0 / (255.0 * np.array(self.std))).astype(np.float32)
        shift = (np.array(self.mean) / np.array(self.std)).astype(np.float32)
        scaled = stacked * scale - shift
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


_BICUBIC: Any = 3  # Pillow's number of this filter


def framing_of(folder: Path) -> Framing:
    """Read the framing from a transformers folder; the default is that of CLIP."""
    said = settings_in(folder, "preprocessor_config.json")
    said = said or settings_in(folder, "processor_config.json").get("image_processor") or {}
    size = _side(said.get("size"), 224)
    crops = bool(
        said.get("do_center_crop", "shortest_edge" in str(said.get("size", "shortest_edge")))
    )
    wanted = _side(said.get("crop_size"), size) if crops else size
    mean, std = said.get("image_mean") or _CLIP_MEAN, said.get("image_std") or _CLIP_STD
    return Framing(wanted, _three(mean), _three(std), crops, size if size > wanted else None)


def _side(said: Any, usual: int) -> int:
    if isinstance(said, dict):
        said = said.get("shortest_edge") or said.get("height")
    return int(said) if said else usual


def _three(values: Sequence[float]) -> Three:
    red, green, blue = (float(value) for value in values)
    return red, green, blue
