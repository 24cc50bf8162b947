"""A good picture, and versions of it that filters drop."""

from collections.abc import Iterable

import numpy as np
from curator_core.testing import run_stages
from curator_image.filters.base import ImageFilter
from curator_image.image_batch import ImageBatch
from drawings import batch, encoded
from PIL import Image
from PIL.ImageFilter import GaussianBlur

NOISE = Image.fromarray(np.random.default_rng(3).integers(0, 256, (300, 400, 3), np.uint8))
GREY_NOISE = NOISE.convert("L").convert("RGB")
DARK = NOISE.point(lambda level: level // 30)
FLAT = Image.new("RGB", (300, 300), (120, 120, 120))
SOFT = NOISE.filter(GaussianBlur(6))
NARROW = NOISE.resize((900, 200))
SMALL = NOISE.resize((90, 70))

PictureOrBytes = Image.Image | bytes


def batch_of(*pictures: PictureOrBytes) -> ImageBatch:
    """Return a batch of pictures, with the keys a, b, c …"""
    return batch(*[one if isinstance(one, bytes) else encoded(one) for one in pictures])


def is_kept(rule: ImageFilter, picture: PictureOrBytes) -> bool:
    return bool(keys_of(run_stages([rule], [batch_of(picture)]).outputs))


def keys_of(batches: Iterable[ImageBatch]) -> list[str]:
    return [key for one in batches for key in one.keys]
