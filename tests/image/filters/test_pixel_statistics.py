"""Measures equal those of Pillow and scikit-image."""

import numpy as np
import pytest
from curator_image.filters.pixel_statistics import (
    brightness,
    colourfulness,
    contrast,
    count_levels,
    entropy,
    sharpness,
    to_grey,
    uniformity,
)
from PIL import Image, ImageFilter

CHANCE = np.random.default_rng(7)
NOISE = CHANCE.integers(0, 256, (40, 60, 3), np.uint8)
PICTURE = np.asarray(Image.fromarray(NOISE).resize((240, 160), Image.Resampling.BICUBIC))
GREY = to_grey(PICTURE)


def flat(level: int) -> np.ndarray:
    return np.full((20, 30), level, np.uint8)


def test_grey_equals_that_of_pillow() -> None:
    assert np.array_equal(GREY, np.asarray(Image.fromarray(PICTURE).convert("L")))
    assert to_grey(GREY) is GREY


def test_sharpness_equals_that_of_scikit_image() -> None:
    filters = pytest.importorskip("skimage.filters")
    assert sharpness(GREY) == pytest.approx(filters.laplace(GREY.astype(float)).var())


def test_entropy_equals_that_of_scikit_image() -> None:
    measure = pytest.importorskip("skimage.measure")
    assert entropy(count_levels(GREY)) == pytest.approx(measure.shannon_entropy(GREY))


def test_blurring_reduces_sharpness() -> None:
    softer = Image.fromarray(GREY).filter(ImageFilter.GaussianBlur(2))
    assert sharpness(np.asarray(softer)) < sharpness(GREY) / 10
    assert sharpness(flat(128)) == 0


def test_sharpness_of_one_bright_pixel() -> None:
    dot = np.zeros((5, 5), np.uint8)
    dot[2, 2] = 10
    values = [0] * 20 + [10] * 4 + [-40]
    assert sharpness(dot) == pytest.approx(np.var(values))


def test_a_picture_of_one_pixel_can_be_measured() -> None:
    one = np.array([[200]], np.uint8)
    assert sharpness(one) == 0
    assert contrast(count_levels(one)) == 0


def test_brightness_and_contrast() -> None:
    assert brightness(count_levels(flat(255))) == 1
    assert contrast(count_levels(flat(255))) == 0
    halves = np.concatenate([flat(0), flat(255)])
    assert brightness(count_levels(halves)) == pytest.approx(0.5)
    assert contrast(count_levels(halves)) == pytest.approx(0.5)
    counts = count_levels(GREY)
    assert brightness(counts) == pytest.approx(GREY.mean() / 255)
    assert contrast(counts) == pytest.approx(GREY.std() / 255)


def test_entropy_of_two_levels_is_one_bit() -> None:
    assert entropy(count_levels(flat(3))) == 0
    assert entropy(count_levels(np.concatenate([flat(0), flat(9)]))) == pytest.approx(1)


def test_uniformity_counts_neighbouring_levels() -> None:
    mixed = np.concatenate([flat(100), flat(103), flat(200), flat(240)])
    assert uniformity(count_levels(mixed), 4) == pytest.approx(0.5)
    assert uniformity(count_levels(mixed), 3) == pytest.approx(0.25)
    assert uniformity(count_levels(flat(255)), 8) == 1


def test_colourfulness() -> None:
    assert colourfulness(GREY) == 0
    assert colourfulness(np.stack([GREY] * 3, axis=-1)) == pytest.approx(0, abs=1e-4)
    red = np.zeros((4, 4, 3), np.uint8)
    red[:, :2, 0] = 255
    warm, yellow = np.array([255.0, 0.0]), np.array([127.5, 0.0])
    expected = np.hypot(warm.std(), yellow.std()) + 0.3 * np.hypot(warm.mean(), yellow.mean())
    assert colourfulness(red) == pytest.approx(expected)
