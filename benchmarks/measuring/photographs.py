"""Photographs of packages whose licences allow it, each of which is there once.

From scikit-image's wheel, and from a few Debian packages where `apt-get download` reaches a
mirror; they are unpacked below the cache, and installed nowhere.
"""

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from measuring.peers import CACHE

PACKAGES = ("opencv-doc", "gnome-backgrounds", "mate-backgrounds", "ukui-wallpapers")
_FOLDERS = (
    "usr/share/doc/opencv-doc/examples/data",
    "usr/share/backgrounds/mate/nature",
    "usr/share/backgrounds",
    "usr/share/backgrounds/gnome",
    "usr/share/doc/opencv-doc/examples/text",
)
_ENDINGS = {".jpg", ".jpeg", ".png", ".webp"}

TWINS = {
    "Blender_Suzanne2": "the head of Blender_Suzanne1, from its other side",
    "aero3": "the town of aero1, further along the same flight",
    "aloeGT": "aloeL, its depths as grey levels",
    "aloeR": "aloeL, through the other lens of a stereo camera",
    "basketball2": "basketball1, a moment later",
    "ela_modified": "ela_original, with a penguin mounted on it",
    "graf3": "the wall of graf1, from the side",
    "imageTextR": "the page imageTextN, turned a little",
    "leuvenB": "the street of leuvenA, from a step beside",
    "opencv-logo-white": "opencv-logo, with its name below",
    "right": "the books of left, through the other lens",
    "rubberwhale2": "rubberwhale1, a moment later",
}
"""What shows the same as another picture here, as somebody saw who looked at all of them: a copy
that is found there is no mistake. Whether anything of ours finds them plays no part."""

TWIN_SERIES = {
    r"(left|right)(0[2-9]|1\d)|right01": "the man with his board in the room of left01, once more",
    r".+-l": "the background whose name ends in -d, in light colours",
    r".+_mask": "the letters of the picture that is named like it",
}

LEAST_SIDE = 180
MOST_SIDE = 1024

_DRAWN = ("cell", "colorwheel", "binary_blobs", "checkerboard", "shepp_logan_phantom", "logo",
          "horse", "cat", "lfw_subset", "data_dir")  # fmt: skip
"""Of scikit-image: drawings, volumes, and a crop of chelsea."""


def photographs(most: int) -> list[Image.Image]:
    """So many pictures, always the same ones, none the same as another."""
    found = [*_of_scikit_image(), *_of_debian()]
    return found[:most]


def _of_scikit_image() -> Iterator[Image.Image]:
    import skimage.data

    for name in sorted(dir(skimage.data)):
        if name.startswith(("_", "download")) or name in _DRAWN:
            continue
        try:
            array = getattr(skimage.data, name)()
        except Exception:  # noqa: BLE001 - it would have to be fetched from the network
            continue
        if getattr(array, "ndim", 0) in (2, 3) and array.dtype == "uint8":
            yield from _fitting(Image.fromarray(array))


def _of_debian() -> Iterator[Image.Image]:
    root = _unpacked()
    for folder in _FOLDERS:
        for path in sorted((root / folder).glob("*.*")):
            if path.suffix.lower() in _ENDINGS and not _is_twin(path.stem):
                with Image.open(path) as picture:
                    yield from _fitting(picture)


def _is_twin(name: str) -> bool:
    return name in TWINS or any(re.fullmatch(pattern, name) for pattern in TWIN_SERIES)


def _fitting(picture: Image.Image) -> Iterator[Image.Image]:
    plain = picture.convert("RGB")
    if min(plain.size) >= LEAST_SIDE:
        plain.thumbnail((MOST_SIDE, MOST_SIDE))
        yield plain


def _unpacked() -> Path:
    root = CACHE / "photographs"
    if (root / "ready").is_file():
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for package in PACKAGES:
        try:
            subprocess.run(["apt-get", "download", package], cwd=root, check=True,
                           capture_output=True)  # fmt: skip
        except (OSError, subprocess.CalledProcessError):
            continue  # no Debian, or no mirror: there are fewer pictures, and the figure says so
    for archive in root.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(root)], check=True)
    (root / "ready").touch()
    return root


def as_jpeg(picture: Image.Image, longest: int | None = None, quality: int = 90) -> bytes:
    """Its bytes, scaled so that its longer side has so many pixels."""
    if longest is not None:
        scale = longest / max(picture.size)
        size = tuple(round(side * scale) for side in picture.size)
        picture = picture.resize((size[0], size[1]), Image.Resampling.LANCZOS)
    sink = io.BytesIO()
    picture.save(sink, "JPEG", quality=quality)
    return sink.getvalue()
