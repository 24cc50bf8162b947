"""Frozen, black and blurred clips are dropped."""

from collections.abc import Callable

import pytest
from curator_core.testing import check_stage
from curator_video.filters.base import ClipFilter
from curator_video.filters.quality import BlackFilter, BlurFilter, FreezeFilter
from curator_video.tasks import Clip

DropReasons = Callable[[ClipFilter, dict[str, Clip]], dict[str, str]]


def test_freeze_filter(clips: dict[str, Clip], drop_reasons: DropReasons) -> None:
    sharp = {name: clip for name, clip in clips.items() if name != "blurred"}
    assert drop_reasons(FreezeFilter(), sharp) == {"frozen": "frozen", "black": "frozen"}


def test_black_filter(clips: dict[str, Clip], drop_reasons: DropReasons) -> None:
    assert drop_reasons(BlackFilter(), clips) == {"black": "black"}


def test_blur_filter(clips: dict[str, Clip], drop_reasons: DropReasons) -> None:
    assert drop_reasons(BlurFilter(), clips) == {"black": "blurred", "blurred": "blurred"}


@pytest.mark.parametrize("stage", [FreezeFilter(), BlackFilter(), BlurFilter()], ids=type)
def test_stage_contract(clips: dict[str, Clip], stage: ClipFilter) -> None:
    check_stage(stage, clips["pan"])
