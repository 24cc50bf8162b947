"""Hashes equal those of ImageHash and of PDQ's own library, on many kinds of drawings."""

import numpy as np
import pytest
from curator_image.hashing import (
    _sample_weights,
    dhash,
    downsample_for_pdq,
    pdq,
    pdq_quality,
    phash,
)
from PIL import Image, ImageDraw, ImageFilter

SIZES = [(640, 480), (333, 517), (90, 70), (1030, 200)]


def drawn(seed: int, size: tuple[int, int]) -> Image.Image:
    """Return a picture of clouds with some shapes and a little grain."""
    rng = np.random.default_rng(seed)
    clouds = rng.integers(0, 256, (6, 8, 3), np.uint8)
    picture = Image.fromarray(clouds).resize(size, Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(picture)
    for _ in range(6):
        corners = sorted(rng.integers(0, size[0], 2)), sorted(rng.integers(0, size[1], 2))
        (left, right), (top, bottom) = corners
        color = tuple(rng.integers(0, 256, 3).tolist())
        pen.ellipse((left, top, right, bottom), fill=color)
    grain = rng.normal(0, 6, (size[1], size[0], 3))
    grained = np.clip(np.asarray(picture) + grain, 0, 255).astype(np.uint8)
    return Image.fromarray(grained).filter(ImageFilter.GaussianBlur(0.6))


PICTURES = [drawn(seed, size) for seed, size in enumerate(SIZES * 3)]


def scaled(picture: Image.Image, width: int, height: int) -> np.ndarray:
    return np.asarray(picture.convert("L").resize((width, height), Image.Resampling.LANCZOS))


def test_phash_equals_that_of_imagehash() -> None:
    imagehash = pytest.importorskip("imagehash")
    hashes = phash(np.stack([scaled(picture, 32, 32) for picture in PICTURES]))
    assert [one.tobytes().hex() for one in hashes] == [str(imagehash.phash(p)) for p in PICTURES]


def test_dhash_equals_that_of_imagehash() -> None:
    imagehash = pytest.importorskip("imagehash")
    hashes = dhash(np.stack([scaled(picture, 9, 8) for picture in PICTURES]))
    assert [one.tobytes().hex() for one in hashes] == [str(imagehash.dhash(p)) for p in PICTURES]


def test_pdq_equals_that_of_the_reference() -> None:
    pdqhash = pytest.importorskip("pdqhash")
    small = np.stack([downsample_for_pdq(np.asarray(picture.convert("L"))) for picture in PICTURES])
    hashes = np.unpackbits(pdq(small), axis=1)
    for picture, bits, quality in zip(PICTURES, hashes, pdq_quality(small), strict=True):
        reference, expected = pdqhash.compute(np.asarray(picture))
        assert int((bits != reference).sum()) <= 2, "rounding may move what is at the median"
        assert abs(int(quality) - expected) <= 1


def test_each_sample_of_a_blurred_picture_is_a_mean() -> None:
    for length in (5, 64, 128, 129, 1000):
        assert _sample_weights(length).sum(axis=1) == pytest.approx(np.ones(64), abs=1e-5)


def test_a_brighter_and_smaller_copy_has_nearly_the_same_hash() -> None:
    picture = PICTURES[0]
    copy = picture.resize((300, 220)).point(lambda level: min(255, level + 12))
    ones, others = (phash(scaled(each, 32, 32)[None]) for each in (picture, copy))
    assert np.unpackbits(ones ^ others).sum() <= 6
    other = phash(scaled(PICTURES[1], 32, 32)[None])
    assert np.unpackbits(ones ^ other).sum() > 12


def test_a_flat_picture_has_no_quality() -> None:
    assert pdq_quality(np.full((1, 64, 64), 90, np.float32)).tolist() == [0]
