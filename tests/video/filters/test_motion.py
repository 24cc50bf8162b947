"""MotionFilter drops still clips, by motion vectors if the codec has them."""

from collections.abc import Callable

from curator_core.testing import check_stage, run_stages
from curator_video.filters.motion import MotionFilter
from curator_video.tasks import Clip

DropReasons = Callable[[MotionFilter, dict[str, Clip]], dict[str, str]]


def test_still_clips_are_dropped(clips: dict[str, Clip], drop_reasons: DropReasons) -> None:
    dropped = drop_reasons(MotionFilter(min_patch_motion=0), clips)
    assert {"frozen", "black"} <= dropped.keys()
    assert not {"pan", "zoom"} & dropped.keys()


def test_the_method_is_recorded(clips: dict[str, Clip]) -> None:
    run = run_stages([MotionFilter(score_only=True)], list(clips.values()))
    assert len(run.outputs) == len(clips), "score_only drops nothing"
    method = "vectors" if clips["pan"].path.endswith("mp4") else "luma"
    assert {clip.scores["motion_method"] for clip in run.outputs} == {method}


def test_a_patch_without_motion_has_its_own_reason(clip: Clip, drop_reasons: DropReasons) -> None:
    stage = MotionFilter(min_motion=0, min_patch_motion=1.0)
    assert drop_reasons(stage, {"pan": clip}) == {"pan": "a part without motion"}


def test_stage_contract(clips: dict[str, Clip]) -> None:
    check_stage(MotionFilter(), clips["pan"])
