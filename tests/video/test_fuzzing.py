"""Fuzzing: whatever the bytes of a file are, it is read or refused, and never ends the run.

Run with five hundred files of each container, and show statistics:

    hatch run soak tests/video/test_fuzzing.py --hypothesis-show-statistics
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core.testing import run_stages
from curator_video.container import UnreadableVideoError, open_video
from curator_video.cutting.cutter import ClipCutter, CutMode
from curator_video.decoding import decode_frames
from curator_video.filters.quality import BlackFilter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Video
from hypothesis import event, given, settings
from hypothesis import strategies as st

CODECS = {
    "mp4": "libx264",
    "mov": "libx264",
    "mkv": "libx264",
    "webm": "libvpx",
    "avi": "mpeg4",
    "ts": "libx264",
}
FLIPS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=40
)


@cache
def sample(folder: Path, ending: str, width: int = 64) -> bytes:
    """Encode a sample; in wider ones, more bytes belong to frames and fewer to headers."""
    style = Style(width=width, height=width * 3 // 4, codec=CODECS[ending], keyframe_every=8)
    film = Film([Shot(12), Shot(12)])
    return write_video(folder / f"sample{width}.{ending}", film, style).read_bytes()


def walk(content: bytes, cutting: Sequence[CutMode] = ("copy",)) -> None:
    """Do everything that a recipe does with a video."""
    source = VideoSource("flipped.mp4", len(content), content=content)
    try:
        facts = probe(source)
        with open_video(source) as video:
            found = list(decode_frames(video))
    except UnreadableVideoError:
        event("the file is refused")
        return
    assert facts.width > 0
    assert found, "neither a frame nor damage: lost in silence"
    for mode in cutting:
        stages = [FixedStrideSplitter(0.4, min_length_s=0.01), BlackFilter(), ClipCutter(mode)]
        ran = run_stages(stages, [Video(source, facts=facts)], on_error="quarantine")
        dropped = [ran.report.of(place).reasons for place in range(len(stages))]
        assert ran.outputs or ran.report.quarantined or any(dropped), (
            "neither a clip nor a reason: lost in silence"
        )
        event(f"{mode}: {_outcome(bool(ran.outputs), bool(ran.report.quarantined))}")


def _outcome(has_clips: bool, has_damage: bool) -> str:
    if has_clips:
        return "clips, and some are set aside" if has_damage else "clips"
    return "all are set aside" if has_damage else "all are dropped"


def flipped(content: bytes, flips: list[tuple[float, int]]) -> bytes:
    changed = bytearray(content)
    for place, value in flips:
        changed[int(place * len(changed))] = value
    return bytes(changed)


@pytest.mark.parametrize("ending", CODECS)
@settings(max_examples=10, deadline=None)
@given(flips=FLIPS)
def test_a_few_changed_bytes(videos: Path, ending: str, flips: list[tuple[float, int]]) -> None:
    walk(flipped(sample(videos, ending), flips))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ending", CODECS)
@settings(max_examples=500, deadline=None)
@given(flips=FLIPS, kept=st.floats(0, 1))
def test_many_changed_or_missing_bytes(
    videos: Path, ending: str, flips: list[tuple[float, int]], kept: float
) -> None:
    content = flipped(sample(videos, ending, width=192), flips)
    walk(content, ("copy", "exact"))
    walk(content[: int(kept * len(content))])
