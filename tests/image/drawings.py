"""Drawings: small pictures, reproducible by number."""

import io

import numpy as np
from curator_image.image_batch import ImageBatch
from PIL import Image, ImageDraw


def drawn(number: int, size: tuple[int, int] = (320, 256)) -> Image.Image:
    """Return a gradient of two colours with some shapes; each number gives another picture."""
    rng = np.random.default_rng(number)
    width, height = size
    ramp = np.linspace(0, 1, width)[None, :, None]
    one, other = rng.integers(0, 255, (2, 3))
    ground = np.broadcast_to(one * ramp + other * (1 - ramp), (height, width, 3))
    image = Image.fromarray(ground.astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        side = int(rng.integers(height // 8, height // 2))
        colour = tuple(int(value) for value in rng.integers(0, 255, 3))
        shape = draw.ellipse if rng.integers(2) else draw.rectangle
        shape((x, y, x + side, y + side), fill=colour)
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def batch(*images: bytes, **columns: list[object]) -> ImageBatch:
    """Return a batch of these pictures, with the keys a, b, c …"""
    rows = [
        {"key": chr(97 + row), "image": data, "extension": "png", "source": "drawn.tar"}
        for row, data in enumerate(images)
    ]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return ImageBatch.from_pylist(rows)
