"""One decode measures for several stages, with the same result as separate decodes."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_video.analysis.measurements import ClipAnalysis, FrameNeeds
from curator_video.analysis.sampling import Sampling
from curator_video.analysis.shared_decode import analyze_span
from curator_video.decoding import DamagedVideoError
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan

SAMPLINGS = frozenset({Sampling(1.0), Sampling(3.0, 90)})
ALL = FrameNeeds(luma=True, motion=True, sharpness=True, frames=SAMPLINGS)
ONE = Sampling(1.0)


def span(path: Path, start: float = 0.0, end: float | None = None) -> ClipSpan:
    source = VideoSource(str(path))
    facts = probe(source)
    return ClipSpan(source, facts, start, facts.duration if end is None else end)


def every_picture(path: Path) -> Iterator[tuple[float, Any]]:
    """Decode every frame, in the simplest way."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            turned = np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)
            yield round(frame.time, 4), turned


STYLES = {
    "h264": ("mp4", Style()),
    "open groups": ("mp4", Style(options={"x264-params": "open-gop=1:bframes=3"})),
    "hevc": ("mkv", Style(codec="libx265", options={"x265-params": "log-level=none"})),
    "vp9": ("webm", Style(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"})),
    "avi": ("avi", Style(codec="mpeg4", options={"bf": "2"})),
    "turned": ("mp4", Style(rotation=90)),
    "variable": ("mkv", Style(is_variable=True)),
    "transport": ("ts", Style()),
}


@pytest.mark.parametrize("kind", STYLES)
def test_sampled_frames_equal_those_of_a_full_decode(videos: Path, kind: str) -> None:
    ending, style = STYLES[kind]
    film = Film([Shot(70, "pan"), Shot(55, "object")])
    path = write_video(videos / f"{kind}.{ending}", film, style)
    first = next(every_picture(path))[0]
    known = {round(time - first, 2): picture for time, picture in every_picture(path)}
    for wanted in (
        FrameNeeds(frames=frozenset({ONE})),
        FrameNeeds(luma=True, frames=frozenset({ONE})),
    ):
        found = analyze_span(span(path), wanted).sampled_frames(ONE)
        assert len(found) >= 5
        offset = found[0][0]
        for time, picture in found:
            assert np.array_equal(picture, known[round(time - offset, 2)])


@pytest.mark.parametrize("start", [2.2, 4.8])
def test_intra_refresh_loses_no_frames(refreshed: Path, start: float) -> None:
    five = Sampling(5.0)
    known = dict(
        analyze_span(
            span(refreshed), FrameNeeds(luma=True, frames=frozenset({five}))
        ).sampled_frames(five)
    )
    found = dict(
        analyze_span(
            span(refreshed, start, start + 0.7), FrameNeeds(frames=frozenset({five}))
        ).sampled_frames(five)
    )
    assert list(found) == [time for time in known if start <= time < start + 0.7]
    assert all(np.array_equal(found[time], known[time]) for time in found)


def test_samples_are_the_first_frames_at_or_after_each_sampling_time(harbour: Path) -> None:
    found = analyze_span(
        span(harbour, 2.5, 5.7), FrameNeeds(frames=frozenset({ONE, Sampling(3.0, 90)}))
    )
    assert [time for time, _ in found.sampled_frames(ONE)] == [3.0, 4.0, 5.0]
    small = found.sampled_frames(Sampling(3.0, 90))
    assert [round(time, 2) for time, _ in small[:4]] == [2.68, 3.0, 3.36, 3.68]
    assert small[0][1].shape == (90, 160, 3)


def test_one_decode_equals_separate_decodes(harbour: Path) -> None:
    whole = span(harbour, 1.0, 9.0)
    together = analyze_span(whole, ALL)
    apart = [
        analyze_span(whole, FrameNeeds(luma=True)),
        analyze_span(whole, FrameNeeds(motion=True)),
        analyze_span(whole, FrameNeeds(sharpness=True)),
        analyze_span(whole, FrameNeeds(frames=frozenset({ONE}))),
    ]
    assert np.array_equal(together.changes, apart[0].changes)
    assert together.motion(320, 180) == apart[1].motion(320, 180)
    assert np.array_equal(together.sharpness, apart[2].sharpness)
    pairs = zip(together.sampled_frames(ONE), apart[3].sampled_frames(ONE), strict=True)
    assert all(one[0] == other[0] and np.array_equal(one[1], other[1]) for one, other in pairs)


def test_luma_and_sharpness_tell_still_dark_and_blurred_clips(videos: Path) -> None:
    film = Film([Shot(50, "frozen"), Shot(50, "black"), Shot(50, "blurred"), Shot(50, "pan")])
    path = write_video(videos / "kinds.mp4", film, Style(keyframe_every=25))
    wanted = FrameNeeds(luma=True, sharpness=True)
    frozen, black, blurred, moving = (
        analyze_span(span(path, 2.0 * number, 2.0 * number + 2), wanted) for number in range(4)
    )
    assert np.median(frozen.changes) < 0.001 < np.median(moving.changes)
    assert black.darkness.min() > 0.98 > moving.darkness.max()
    assert blurred.sharpness.max() * 5 < moving.sharpness.min()


def test_vp9_has_no_motion_vectors(videos: Path) -> None:
    style = Style(codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"})
    path = write_video(videos / "silent.webm", Film([Shot(30)]), style)
    found = analyze_span(span(path), FrameNeeds(motion=True))
    assert found.motion(320, 180) is None


def dense_motion(path: Path) -> tuple[float, Any]:
    """Draw the vectors of every twelfth frame pixel by pixel, and average them."""
    fields = []
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.flags2 |= av.codec.context.Flags2.export_mvs
        for number, frame in enumerate(container.decode(video=0)):
            vectors: Any = next((s for s in frame.side_data if "MOTION" in s.type.name), None)
            if number % 12 or vectors is None:
                continue
            field = np.zeros((frame.height, frame.width))
            for size in ((8, 8), (16, 16), (16, 8), (8, 16)):
                for one in vectors.to_ndarray():
                    if (one["w"], one["h"]) != size:
                        continue
                    left, top = one["dst_x"] - size[0] // 2, one["dst_y"] - size[1] // 2
                    moved = np.hypot(one["motion_x"], one["motion_y"]) / one["motion_scale"]
                    rows = slice(max(0, top), top + size[1])
                    field[rows, max(0, left) : left + size[0]] = moved
            fields.append(field / (frame.width + frame.height))
    return float(np.mean(fields)), len(fields)


def test_motion_equals_vectors_drawn_pixel_by_pixel(videos: Path) -> None:
    style = Style(width=320, height=176, fps=24, options={"bf": "0"})
    path = write_video(videos / "vectors.mp4", Film([Shot(60, "pan"), Shot(48, "object")]), style)
    wanted, count = dense_motion(path)
    found = analyze_span(span(path), FrameNeeds(motion=True)).motion(320, 176)
    assert found
    assert found.frames == count
    assert found.mean == pytest.approx(wanted, abs=1e-5)
    assert wanted > 1e-4


def test_frames_are_freed_without_garbage_collection(harbour: Path) -> None:
    gc.collect()
    gc.disable()  # it would come now and then, and hide what waits for it
    try:
        analyze_span(span(harbour), ALL)
        left = sum(type(one) is av.VideoFrame for one in gc.get_objects())
    finally:
        gc.enable()
    assert left < 5


def test_damage_raises_an_error_with_its_span(broken: dict[str, Path]) -> None:
    for wanted in (FrameNeeds(luma=True), FrameNeeds(frames=frozenset({Sampling(5.0)}))):
        with pytest.raises(DamagedVideoError, match=r"damaged_middle.mp4 is damaged from [01]\."):
            analyze_span(span(broken["damaged middle"]), wanted)
        assert isinstance(
            analyze_span(span(broken["damaged middle"], 2.0, 4.0), wanted), ClipAnalysis
        )


def test_sampled_frames_do_not_depend_on_lost_packets(lossy: Path) -> None:
    wanted = FrameNeeds(frames=frozenset({ONE}))
    with pytest.raises(DamagedVideoError, match=r"damaged from 3\.00 to .* s: damaged packets"):
        analyze_span(span(lossy, 2.0, 4.0), wanted)
    assert len(analyze_span(span(lossy, 4.0, 6.0), wanted).sampled_frames(ONE)) == 2


def test_a_span_after_the_end_is_an_error(broken: dict[str, Path]) -> None:
    for wanted in (FrameNeeds(luma=True), FrameNeeds(frames=frozenset({ONE}))):
        with pytest.raises(DamagedVideoError, match=r"missing_end.mp4 .*end"):
            analyze_span(span(broken["missing end"], 2.5, 4.0), wanted)
