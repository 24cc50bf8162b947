import numpy as np
import pytest
from curator_image.measuring.measures import (
    brightness,
    colourfulness,
    contrast,
    entropy,
    grey_of,
    level_counts,
    sharpness,
    uniformity,
)
from PIL import Image, ImageFilter

CHANCE = np.random.default_rng(7)
NOISE = CHANCE.integers(0, 256, (40, 60, 3), np.uint8)
PICTURE = np.asarray(Image.fromarray(NOISE).resize((240, 160), Image.Resampling.BICUBIC))
GREY = grey_of(PICTURE)


def flat(level: int) -> np.ndarray:
    return np.full((20, 30), level, np.uint8)


def test_grey_is_that_of_pillow() -> None:
    assert np.array_equal(GREY, np.asarray(Image.fromarray(PICTURE).convert("L")))
    assert grey_of(GREY) is GREY


def test_sharpness_is_that_of_scikit_image() -> None:
    filters = pytest.importorskip("skimage.filters")
    assert sharpness(GREY) == pytest.approx(filters.laplace(GREY.astype(float)).var())


def test_entropy_is_that_of_scikit_image() -> None:
    measure = pytest.importorskip("skimage.measure")
    assert entropy(level_counts(GREY)) == pytest.approx(measure.shannon_entropy(GREY))


def test_blurring_takes_sharpness_away() -> None:
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
    assert contrast(level_counts(one)) == 0


def test_brightness_and_contrast() -> None:
    assert brightness(level_counts(flat(255))) == 1
    assert contrast(level_counts(flat(255))) == 0
    halves = np.concatenate([flat(0), flat(255)])
    assert brightness(level_counts(halves)) == pytest.approx(0.5)
    assert contrast(level_counts(halves)) == pytest.approx(0.5)
    counts = level_counts(GREY)
    assert brightness(counts) == pytest.approx(GREY.mean() / 255)
    assert contrast(counts) == pytest.approx(GREY.std() / 255)


def test_entropy_of_two_levels_is_one_bit() -> None:
    assert entropy(level_counts(flat(3))) == 0
    assert entropy(level_counts(np.concatenate([flat(0), flat(9)]))) == pytest.approx(1)


def test_uniformity_counts_levels_beside_each_other() -> None:
    mixed = np.concatenate([flat(100), flat(103), flat(200), flat(240)])
    assert uniformity(level_counts(mixed), 4) == pytest.approx(0.5)
    assert uniformity(level_counts(mixed), 3) == pytest.approx(0.25)
    assert uniformity(level_counts(flat(255)), 8) == 1


def test_colourfulness() -> None:
    assert colourfulness(GREY) == 0
    assert colourfulness(np.stack([GREY] * 3, axis=-1)) == pytest.approx(0, abs=1e-4)
    red = np.zeros((4, 4, 3), np.uint8)
    red[:, :2, 0] = 255
    warm, yellow = np.array([255.0, 0.0]), np.array([127.5, 0.0])
    expected = np.hypot(warm.std(), yellow.std()) + 0.3 * np.hypot(warm.mean(), yellow.mean())
    assert colourfulness(red) == pytest.approx(expected)
