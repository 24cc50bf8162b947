"""Filters on pixels: sharpness, brightness, contrast, entropy, uniformity, colours."""

import pytest
from curator_core.testing import check_stage
from curator_image.filters.base import ImageFilter
from curator_image.filters.quality import (
    BlurFilter,
    BrightnessFilter,
    ColorfulnessFilter,
    ContrastFilter,
    EntropyFilter,
    UniformityFilter,
)
from PIL.Image import Image
from sample_pictures import DARK, FLAT, GREY_NOISE, NOISE, SOFT, batch_of, is_kept


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (BlurFilter(), NOISE, SOFT),
        (BrightnessFilter(), NOISE, DARK),
        (ContrastFilter(), NOISE, DARK),
        (EntropyFilter(), NOISE, FLAT),
        (UniformityFilter(), NOISE, FLAT),
        (ColorfulnessFilter(), NOISE, GREY_NOISE),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
class TestFilters:
    def test_keeps_good_and_drops_bad_pictures(
        self, rule: ImageFilter, good: Image, bad: Image
    ) -> None:
        assert is_kept(rule, good)
        assert not is_kept(rule, bad)

    def test_stage_contract(self, rule: ImageFilter, good: Image, bad: Image) -> None:
        check_stage(rule, batch_of(good, bad))
