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
)
_ENDINGS = {".jpg", ".jpeg", ".png", ".webp"}
_SERIES = re.compile(r"(left|right|L|R|GT|-[ld]|\d\d|_(notes|inverted|small|mask))$")
_AGAIN = {
    "Blender_Suzanne2", "aero3", "basketball2", "ela_modified", "graf3", "imageTextR", "leuvenB",
    "opencv-logo-white", "right01", "rubberwhale2",
}  # fmt: skip
"""What shows the same as another of them: a copy that is found there is no mistake."""

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
    seen: set[str] = set()
    root = _unpacked()
    for folder in _FOLDERS:
        for path in sorted((root / folder).glob("*.*")):
            stem = _SERIES.sub("", path.stem)
            if (
                path.suffix.lower() in _ENDINGS
                and stem
                and path.stem not in _AGAIN
                and stem not in seen
            ):
                seen.add(stem)
                with Image.open(path) as picture:
                    yield from _fitting(picture)


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
