"""Clips are split into windows of frames, with times of the video."""

from itertools import pairwise

from curator_video.captions.base import split_windows
from curator_video.tasks import CaptionWindow
from hypothesis import given
from hypothesis import strategies as st


def frames(start: float, end: float, fps: float) -> list[tuple[int, int]]:
    return [(w.start_frame, w.end_frame) for w in split_windows(start, end, fps, 256, 128)]


def test_a_short_rest_is_added_to_the_last_window() -> None:
    assert frames(0, 10, 25) == [(0, 250)]
    assert frames(0, 383 / 30, 30) == [(0, 383)]
    assert frames(0, 384 / 30, 30) == [(0, 256), (256, 384)]
    assert frames(5, 5 + 700 / 30, 30) == [(0, 256), (256, 512), (512, 700)]


def test_windows_have_times_of_the_video() -> None:
    [first, second] = split_windows(10.0, 26.0, 25.0, 256, 128)
    assert (first.start, first.end) == (10.0, 20.24)
    assert (second.start, second.end) == (20.24, 26.0)


@given(st.floats(0, 1e4), st.floats(0.01, 200), st.floats(1, 240), st.integers(1, 400))
def test_windows_cover_the_clip_without_gaps(
    start: float, length: float, fps: float, size: int
) -> None:
    found = split_windows(start, start + length, fps, size, size // 2)
    assert found[0].start_frame == 0
    assert found[-1].end == start + length
    for one, other in pairwise(found):
        assert one.end_frame == other.start_frame
        assert one.end == other.start
        assert one.end_frame - one.start_frame == size


def test_windows_are_stored_as_flat_dictionaries() -> None:
    window = CaptionWindow(0, 10, 0.0, 0.4).with_caption("caption", "a dog")
    stored = {"caption": "a dog", "start_frame": 0, "end_frame": 10, "start": 0.0, "end": 0.4}
    assert window.as_dict() == stored
    assert CaptionWindow.from_dict(stored) == window
