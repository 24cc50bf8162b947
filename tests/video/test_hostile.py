"""Whatever bytes are in a file: an answer, an error that names it, and never the end of the run."""

from functools import cache
from pathlib import Path

import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_video.decoding import pictures
from curator_video.opening import UnreadableVideoError, opened
from curator_video.probing import probe
from curator_video.sources import VideoSource
from hypothesis import given, settings
from hypothesis import strategies as st

CODECS = {"mp4": "libx264", "mkv": "libx264", "webm": "libvpx", "avi": "mpeg4", "ts": "libx264"}
FLIPS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=40
)


@cache
def sample(folder: Path, ending: str) -> bytes:
    style = Style(width=64, height=48, codec=CODECS[ending], keyframe_every=8)
    film = Film([Shot(12), Shot(12)])
    return write_video(folder / f"sample.{ending}", film, style).read_bytes()


def walk(content: bytes) -> None:
    source = VideoSource("flipped.mp4", len(content), content=content)
    try:
        facts = probe(source)
        with opened(source) as video:
            found = list(pictures(video))
    except UnreadableVideoError:
        return
    assert facts.width > 0
    assert found, "neither a picture nor damage: lost in silence"


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
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ending", CODECS)
@settings(max_examples=500, deadline=None)
@given(flips=FLIPS, kept=st.floats(0, 1))
def test_many_changed_bytes(
    videos: Path, ending: str, flips: list[tuple[float, int]], kept: float
) -> None:
    content = flipped(sample(videos, ending), flips)
    walk(content)
    walk(content[: int(kept * len(content))])
