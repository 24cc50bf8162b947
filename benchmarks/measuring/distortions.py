"""Distortions: what happens to pictures on their way through the web."""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

Picture = Image.Image


def _poor_jpeg(picture: Picture) -> Picture:
    sink = io.BytesIO()
    picture.save(sink, "JPEG", quality=30)
    return Image.open(sink).convert("RGB")


def _noise(picture: Picture) -> Picture:
    chance = np.random.default_rng(5)
    levels = np.asarray(picture, np.float32)
    noisy = levels + chance.normal(0, 12, levels.shape)
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def _crop(picture: Picture, share: float) -> Picture:
    """The middle, of which each side is so long."""
    width, height = picture.size
    across, down = int(width * (1 - share) / 2), int(height * (1 - share) / 2)
    return picture.crop((across, down, width - across, height - down))


def _caption(picture: Picture) -> Picture:
    marked = picture.copy()
    width, height = marked.size
    pen = ImageDraw.Draw(marked)
    pen.rectangle((0, int(height * 0.9), width, height), fill="black")
    pen.text((width // 10, int(height * 0.92)), "a caption", fill="white")
    return marked


DISTORTIONS: dict[str, Callable[[Picture], Picture]] = {
    "jpeg30": _poor_jpeg,
    "half": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "brighter": lambda picture: ImageEnhance.Brightness(picture).enhance(1.25),
    "contrast": lambda picture: ImageEnhance.Contrast(picture).enhance(0.7),
    "grey": lambda picture: picture.convert("L").convert("RGB"),
    "blur2": lambda picture: picture.filter(ImageFilter.GaussianBlur(2)),
    "noise": _noise,
    "caption": _caption,
    "crop75": lambda picture: _crop(picture, 0.75),
    "flip": ImageOps.mirror,
}


def _border(picture: Picture) -> Picture:
    """A white frame, a twentieth of the width and of the height on each side."""
    across, down = picture.width // 20, picture.height // 20
    return ImageOps.expand(picture, (across, down, across, down), "white")


def _bar(picture: Picture) -> Picture:
    """A white bar with words below the picture, an eighth of its height."""
    high = picture.height // 8
    framed = ImageOps.expand(picture, (0, 0, 0, high), "white")
    ImageDraw.Draw(framed).text((10, picture.height + high // 3), "a caption", fill="black")
    return framed


FRAMES: dict[str, Callable[[Picture], Picture]] = {
    "border of 5 %": _border,
    "caption bar": _bar,
    "crop of 5 %": lambda picture: _crop(picture, 0.95),
    "crop of 10 %": lambda picture: _crop(picture, 0.9),
}
"""What people do to pictures that moves everything in them by a little."""
