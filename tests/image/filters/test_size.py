"""Size, shape, file size and format are read from the header."""

import pytest
from curator_core.testing import check_stage
from curator_image.filters.base import ImageFilter
from curator_image.filters.size import (
    AspectRatioFilter,
    FileSizeFilter,
    FormatFilter,
    PixelCountFilter,
    SizeFilter,
)
from drawings import encoded
from sample_pictures import FLAT, NARROW, NOISE, SMALL, PictureOrBytes, batch_of, is_kept


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (SizeFilter(), NOISE, SMALL),
        (SizeFilter(min_side=None, max_side=250), SMALL, NOISE),
        (PixelCountFilter(), NOISE, SMALL),
        (AspectRatioFilter(), NOISE, NARROW),
        (AspectRatioFilter(), NOISE, NARROW.rotate(90, expand=True)),
        (FileSizeFilter(), NOISE, FLAT),
        (FormatFilter(["PNG"]), NOISE, encoded(NOISE, "JPEG")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
class TestFilters:
    def test_keeps_good_and_drops_bad_pictures(
        self, rule: ImageFilter, good: PictureOrBytes, bad: PictureOrBytes
    ) -> None:
        assert is_kept(rule, good)
        assert not is_kept(rule, bad)

    def test_stage_contract(
        self, rule: ImageFilter, good: PictureOrBytes, bad: PictureOrBytes
    ) -> None:
        check_stage(rule, batch_of(good, bad))


def test_unknown_formats_are_reported() -> None:
    [problem] = FormatFilter(["jepg"]).check()
    assert "'jepg' (did you mean jpeg?)" in problem
