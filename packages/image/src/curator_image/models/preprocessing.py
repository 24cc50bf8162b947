"""Preprocessing: scale and normalize pixels for a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_models.hub import read_config

from curator_image.decoding import Pixels
from curator_image.pixel_view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Channels: TypeAlias = tuple[float, float, float]

_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class Preprocessing:
    """The size and normalization of pictures that a network was trained with."""

    size: int
    mean: Channels
    std: Channels
    center_crop: bool = True
    """Whether the network sees the centre of a picture; else all of it, squeezed to a square."""
    resize_side: int | None = None
    """Length of the shorter side before cropping if it exceeds `size`."""

    @property
    def view(self) -> View:
        return View(short_side=self.resize_side or self.size)

    def to_square(self, pixels: Pixels) -> Pixels:
        """Return the picture as a square of this size."""
        import numpy as np
        from PIL import Image

        height, width = pixels.shape[:2]
        if not self.center_crop:
            return np.asarray(Image.fromarray(pixels).resize((self.size, self.size), _BICUBIC))
        side = self.resize_side or self.size
        if min(height, width) != side:
            scale = side / min(height, width)
            width, height = max(side, round(width * scale)), max(side, round(height * scale))
            pixels = np.asarray(Image.fromarray(pixels).resize((width, height), _BICUBIC))
        top, left = (height - self.size) // 2, (width - self.size) // 2
        return pixels[top : top + self.size, left : left + self.size]

    def normalize(self, pictures: Sequence[Pixels]) -> "NDArray[np.float32]":
        """Return normalized pictures in channel, row, column order."""
        import numpy as np

        stacked = np.stack([self.to_square(pixels) for pixels in pictures])
        scale = (1.0 / (255.0 * np.array(self.std))).astype(np.float32)
        shift = (np.array(self.mean) / np.array(self.std)).astype(np.float32)
        scaled = stacked * scale - shift
        return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


_BICUBIC: Any = 3  # Pillow's number of this filter


def read_preprocessing(folder: Path) -> Preprocessing:
    """Read the preprocessing from a transformers folder; the default is that of CLIP."""
    config = read_config(folder, "preprocessor_config.json")
    config = config or read_config(folder, "processor_config.json").get("image_processor") or {}
    size = _side_length(config.get("size"), 224)
    center_crop = bool(
        config.get("do_center_crop", "shortest_edge" in str(config.get("size", "shortest_edge")))
    )
    crop_size = _side_length(config.get("crop_size"), size) if center_crop else size
    mean, std = config.get("image_mean") or _CLIP_MEAN, config.get("image_std") or _CLIP_STD
    return Preprocessing(
        crop_size, _channels(mean), _channels(std), center_crop, size if size > crop_size else None
    )


def _side_length(config: Any, default: int) -> int:
    if isinstance(config, dict):
        config = config.get("shortest_edge") or config.get("height")
    return int(config) if config else default


def _channels(values: Sequence[float]) -> Channels:
    red, green, blue = (float(value) for value in values)
    return red, green, blue
