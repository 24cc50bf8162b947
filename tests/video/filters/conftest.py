"""Clips that each show one kind of movement."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from corpus.films import Film, Shot
from corpus.scenes import Motion
from corpus.videos import Style, write_video
from curator_core.testing import run_stages
from curator_video.filters.base import ClipRuleSet
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

MOTIONS: tuple[Motion, ...] = ("pan", "object", "frozen", "black", "blurred", "zoom")
VP9 = Style(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"})

Clips = dict[str, Clip]


@pytest.fixture(scope="package", params=["mp4", "webm"])
def clips(request: pytest.FixtureRequest, videos: Path) -> Clips:
    """Clips of two seconds of each movement, with and without motion vectors."""
    film = Film([Shot(50, motion) for motion in MOTIONS], seed=4)
    style = Style(keyframe_every=50) if request.param == "mp4" else replace(VP9, keyframe_every=50)
    source = VideoSource(str(write_video(videos / f"filters.{request.param}", film, style)))
    facts = probe(source)
    return {
        motion: Clip(ClipSpan(source, facts, 2.0 * number, 2.0 * number + 2))
        for number, motion in enumerate(MOTIONS)
    }


@pytest.fixture(scope="package")
def clip(videos: Path) -> Clip:
    """Two seconds of a pan, 320 pixels wide and 180 high."""
    source = VideoSource(str(write_video(videos / "pan.mp4", Film([Shot(50, "pan")], seed=4))))
    return Clip(ClipSpan(source, probe(source), 0.0, 2.0))


@pytest.fixture
def drop_reasons() -> Callable[[ClipRuleSet, Clips], dict[str, str]]:
    """Return the clips that a filter drops, each with its reason."""

    def run(stage: ClipRuleSet, clips: Clips) -> dict[str, str]:
        return {
            name: reason
            for name, clip in clips.items()
            for reason in run_stages([stage], [clip]).counts.reasons
        }

    return run
