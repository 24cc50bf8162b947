"""The last frame may be shown for long, as in a slide show; a missing end is damage."""

from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import av
import numpy as np
import pytest
from curator_core.model.stages import AnyStage
from curator_core.testing import run_stages
from curator_video.container import open_video
from curator_video.cutting.cutter import ClipCutter, CutMode
from curator_video.decoding import DamagedSpan, TimedFrame, decode_frames
from curator_video.filters.quality import BlackFilter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.scenes.histogram import HistogramShotSplitter
from curator_video.source import VideoSource
from curator_video.tasks import Video

FILM = [40 * number for number in range(55)]
"""Milliseconds of a bit over two seconds; the last frame is shown up to six seconds."""

LAYOUTS = {
    "mp4": {},
    "mov": {},
    "fast.mp4": {"movflags": "faststart"},
    "fragments.mp4": {"movflags": "frag_keyframe+empty_moov"},
    "mkv": {},
}


def write_frames(
    path: Path, times: list[int], end: int, layout: str = "mp4", ahead: int = 0
) -> Path:
    """Write frames at these times, the last one shown until `end`, with `ahead` B-frames."""
    with av.open(str(path), "w", options=LAYOUTS[layout]) as container:
        track = container.add_stream("libx264", rate=25)
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        track.codec_context.time_base = Fraction(1, 1000)
        track.options = {"x264-params": f"threads=1:keyint=25:scenecut=0:bframes={ahead}"}
        packets, dice = [], np.random.default_rng(0)
        for time in times:
            noise = dice.integers(40, 250, (48, 64), np.uint8)
            frame = av.VideoFrame.from_ndarray(noise, "gray").reformat(format="yuv420p")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            packets += track.encode(frame)
        packets += track.encode(None)
        if layout == "mkv":
            last = max(packets, key=lambda packet: packet.pts)
            last.duration = end - times[-1]
        else:  # which knows how long it takes to the next one that is decoded
            packets[-1].duration = end - (packets[-1].dts - packets[0].dts)
        container.mux(packets)
    return path


def shown(path: Path) -> tuple[list[float], list[DamagedSpan]]:
    with open_video(VideoSource(str(path))) as video:
        items = list(decode_frames(video))
    times = [round(item.time, 3) for item in items if isinstance(item, TimedFrame)]
    return times, [item for item in items if isinstance(item, DamagedSpan)]


def clips(path: Path, *stages: AnyStage) -> Any:
    source = VideoSource(str(path))
    return run_stages(list(stages), [Video(source, facts=probe(source))], on_error="quarantine")


@pytest.mark.parametrize(
    ("layout", "ahead"),
    [("mp4", 0), ("mp4", 2), ("mov", 0), ("fragments.mp4", 2), ("mkv", 0), ("mkv", 2)],
)
def test_a_long_last_frame_is_not_a_missing_end(tmp_path: Path, layout: str, ahead: int) -> None:
    path = write_frames(tmp_path / f"film.{layout}", FILM, 6000, layout, ahead)
    assert shown(path) == ([time / 1000 for time in FILM], [])
    for stages in ([ClipCutter("copy")], [BlackFilter(), ClipCutter()]):
        ran = clips(path, FixedStrideSplitter(2, min_length_s=1), *stages)
        assert not ran.report.quarantined
        made = [done.data.encoded for done in ran.outputs]
        assert [one.end for one in made] == pytest.approx([2, 4, 6], abs=0.1)
        for one in made:
            facts = probe(VideoSource("x.mp4", content=one.content))
            assert facts.duration == pytest.approx(one.end - one.start, abs=0.05)


@pytest.mark.parametrize(
    ("layout", "share", "ahead"),
    [
        ("fast.mp4", 0.6, 0),
        ("fast.mp4", 0.97, 2),
        ("fragments.mp4", 0.97, 2),
        ("mkv", 0.6, 2),
        ("mkv", 0.97, 0),
    ],
)
def test_a_missing_end_is_damage_even_if_the_last_frame_was_long(
    tmp_path: Path, layout: str, share: float, ahead: int
) -> None:
    path = write_frames(tmp_path / f"film.{layout}", FILM, 6000, layout, ahead)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    times, [damage] = shown(path)
    assert damage.start == pytest.approx(times[-1] + 0.04, abs=0.09)
    for mode in get_args(CutMode):
        ran = clips(path, FixedStrideSplitter(6, min_length_s=0.1), ClipCutter(mode))
        assert not ran.outputs
        assert ran.report.quarantined


@pytest.mark.parametrize("layout", ["mp4", "mkv"])
@pytest.mark.parametrize("slides", [[0], [0, 5000], [0, 5000, 9000], [0, 3000, 11_000]])
def test_a_slide_show_lasts_as_long_as_its_slides(
    tmp_path: Path, layout: str, slides: list[int]
) -> None:
    path = write_frames(tmp_path / f"slides.{layout}", slides, 16_000, layout)
    ran = clips(path, FixedStrideSplitter(4), BlackFilter(), ClipCutter())
    assert not ran.report.quarantined
    assert [done.data.encoded.end for done in ran.outputs] == [4, 8, 12, 16]
    ran = clips(path, HistogramShotSplitter(max_length_s=20), ClipCutter())
    [done] = ran.outputs
    assert (done.data.start, done.data.encoded.end) == (0.5, 15.5)


def test_the_declared_duration_of_the_last_frame_is_limited(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "years.mp4", FILM, 100_000_000)
    assert len(clips(path, FixedStrideSplitter(2)).outputs) == 101
