"""Duration and resolution are compared with limits, without decoding."""

from collections.abc import Callable

import pytest
from curator_core.testing import check_stage
from curator_video.filters.base import ClipRuleSet
from curator_video.filters.size import DurationFilter, ResolutionFilter
from curator_video.tasks import Clip

DropReasons = Callable[[ClipRuleSet, dict[str, Clip]], dict[str, str]]


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        (DurationFilter(2.5), "too short"),
        (DurationFilter(0.5, 1.5), "too long"),
        (DurationFilter(2, 2), None),
        (ResolutionFilter(), "too small"),
        (ResolutionFilter(min_short_side=180), None),
        (ResolutionFilter(min_short_side=0, min_width=321), "too small"),
        (ResolutionFilter(min_short_side=0, min_height=181), "too small"),
        (ResolutionFilter(min_short_side=0, max_aspect=1.5), "too long a side"),
    ],
    ids=repr,
)
def test_limits(clip: Clip, drop_reasons: DropReasons, stage: ClipRuleSet, reason: str) -> None:
    assert drop_reasons(stage, {"clip": clip}) == ({"clip": reason} if reason else {})


def test_limits_that_keep_nothing_are_reported() -> None:
    [problem] = DurationFilter(5, 2).check()
    assert "max_s is 2" in problem
    assert "min_s of 5" in problem


def test_stage_contract(clip: Clip) -> None:
    check_stage(DurationFilter(1), clip)
