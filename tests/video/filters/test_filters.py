from dataclasses import replace
from pathlib import Path

import pytest
from corpus.films import Film, Shot
from corpus.scenes import Motion
from corpus.videos import Style, write_video
from curator_core.testing import check_stage, run_stages
from curator_video.facts import probe
from curator_video.filters.base import ClipFilter
from curator_video.filters.models import NSFWFilter, TextAreaFilter
from curator_video.filters.motion import MotionFilter
from curator_video.filters.quality import BlackFilter, BlurFilter, FreezeFilter
from curator_video.filters.size import DurationFilter, ResolutionFilter
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

MOTIONS: tuple[Motion, ...] = ("pan", "object", "frozen", "black", "blurred", "zoom")
VP9 = Style(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"})


@pytest.fixture(scope="module", params=["mp4", "webm"])
def clips(request: pytest.FixtureRequest, videos: Path) -> dict[str, Clip]:
    """Clips of two seconds of each movement, with and without motion vectors."""
    film = Film([Shot(50, motion) for motion in MOTIONS], seed=4)
    style = Style(keyframe_every=50) if request.param == "mp4" else replace(VP9, keyframe_every=50)
    source = VideoSource(str(write_video(videos / f"filters.{request.param}", film, style)))
    facts = probe(source)
    return {
        motion: Clip(ClipSpan(source, facts, 2.0 * number, 2.0 * number + 2))
        for number, motion in enumerate(MOTIONS)
    }


def dropped(stage: ClipFilter, clips: dict[str, Clip]) -> dict[str, str]:
    found = {}
    for name, clip in clips.items():
        for reason in run_stages([stage], [clip]).counts.reasons:
            found[name] = reason
    return found


def test_motion_filter_drops_still_clips(clips: dict[str, Clip]) -> None:
    found = dropped(MotionFilter(min_patch_motion=0), clips)
    assert {"frozen", "black"} <= found.keys()
    assert not {"pan", "zoom"} & found.keys()


def test_the_motion_method_is_recorded(clips: dict[str, Clip]) -> None:
    ran = run_stages([MotionFilter(score_only=True)], list(clips.values()))
    assert len(ran.outputs) == len(clips), "nothing is dropped where only scores are wanted"
    method = "vectors" if clips["pan"].path.endswith("mp4") else "luma"
    assert {clip.scores["motion_method"] for clip in ran.outputs} == {method}


def test_a_patch_without_motion_has_its_own_reason(clips: dict[str, Clip]) -> None:
    if clips["pan"].path.endswith("mp4"):
        found = dropped(MotionFilter(min_motion=0, min_patch_motion=1.0), clips)
        assert found["pan"] == "a part without motion"


def test_frozen_black_and_blurred_clips_are_dropped(clips: dict[str, Clip]) -> None:
    sharp = {name: clip for name, clip in clips.items() if name != "blurred"}
    assert dropped(FreezeFilter(), sharp) == {"frozen": "frozen", "black": "frozen"}
    assert dropped(BlackFilter(), clips) == {"black": "black"}
    assert dropped(BlurFilter(), clips) == {"black": "blurred", "blurred": "blurred"}


def test_scores_are_counted_as_kept_or_dropped(clips: dict[str, Clip]) -> None:
    counts = run_stages([BlurFilter()], list(clips.values())).counts
    [scores] = counts.scores.values()
    assert sum(scores.dropped.values()) == sum(counts.reasons.values()) == 2
    assert sum(scores.kept.values()) == len(clips) - 2


def test_duration_and_resolution_limits(clips: dict[str, Clip]) -> None:
    one = {"pan": clips["pan"]}
    assert dropped(DurationFilter(2.5), one) == {"pan": "too short"}
    assert dropped(DurationFilter(0.5, 1.5), one) == {"pan": "too long"}
    assert dropped(DurationFilter(2, 2), one) == {}
    assert dropped(ResolutionFilter(), one) == {"pan": "too small"}
    assert dropped(ResolutionFilter(min_short_side=180), one) == {}
    assert dropped(ResolutionFilter(min_short_side=0, min_width=321), one) == {"pan": "too small"}
    assert dropped(ResolutionFilter(min_short_side=0, max_aspect=1.5), one) == {
        "pan": "too long a side"
    }


def test_limits_that_keep_nothing_are_reported() -> None:
    [reported] = DurationFilter(5, 2).check()
    assert reported == "max_s is 2, less than min_s of 5; no clip would be kept"


def test_percentages_instead_of_shares_are_reported() -> None:
    """Otherwise nothing would ever be dropped."""
    for stage, name in (
        (BlackFilter(max_black_share=50), "max_black_share"),
        (FreezeFilter(max_frozen_share=50), "max_frozen_share"),
        (NSFWFilter(max_score=50), "max_score"),
        (TextAreaFilter(max_area=50), "max_area"),
    ):
        assert f"{name} is 50, but must be between 0 and 1" in stage.check()


@pytest.mark.parametrize(
    "stage", [MotionFilter(), FreezeFilter(), BlackFilter(), BlurFilter(), DurationFilter(1)]
)
def test_stage_contract(clips: dict[str, Clip], stage: ClipFilter) -> None:
    check_stage(stage, clips["pan"])
