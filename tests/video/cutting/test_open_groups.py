"""Open groups: frames stored after a keyframe may also depend on frames before it.

No player shows them in a copy that begins there, so the copy begins later than its packets do.
"""

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from curator_core.testing import run_stages
from curator_video.container import open_video
from curator_video.cutting.cutter import ClipCutter
from curator_video.cutting.encoders import VideoEncoder
from curator_video.decoding import TimedFrame, decode_frames
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

_OPEN = "open-gop=1:b-adapt=0:keyint=24:min-keyint=24:scenecut=0"
KINDS = {
    "x264.mp4": ("libx264", {"x264-params": f"{_OPEN}:bframes=3:threads=1"}),
    "x264.ts": ("libx264", {"x264-params": f"{_OPEN}:bframes=3:threads=1"}),
    "x264.avi": ("libx264", {"x264-params": f"{_OPEN}:bframes=3:threads=1"}),
    "pyramid.avi": ("libx264", {"x264-params": f"{_OPEN}:bframes=7:b-pyramid=normal:threads=1"}),
    "x265.ts": ("libx265", {"x265-params": f"{_OPEN}:bframes=3:pools=1:log-level=none"}),
    "mpeg2.ts": ("mpeg2video", {"bf": "2", "g": "24"}),
    "mpeg4.ts": ("mpeg4", {"bf": "2", "g": "24"}),
    "divx.avi": ("mpeg4", {"bf": "1", "g": "24"}),
}
_BEGINS = b"\0\0\1\xb6"
_AS_BEFORE = _BEGINS + b"\x50\x4f"
_DIVX = b"\0\0\1\xb2DivX503b1393p\0"


def numbered(path: Path, codec: str, options: dict[str, str]) -> Path:
    """Write eighty frames that show their number."""
    with av.open(str(path), "w") as container:
        track: Any = container.add_stream(codec, rate=25)
        track.width, track.height, track.pix_fmt = 112, 48, "yuv420p"
        track.options, track.codec_context.thread_count, track.bit_rate = options, 1, 800_000
        packets = [packet for frame in _frames() for packet in track.encode(frame)]
        packets += track.encode(None)
        if "divx" not in path.name:
            container.mux(packets)
    if "divx" in path.name:
        _write_divx(path, [(bytes(packet), packet.is_keyframe) for packet in packets])
    return path


def _frames() -> Iterator[Any]:
    scene = np.random.default_rng(1).integers(60, 200, (48, 300), np.uint8)
    for number in range(80):
        picture = scene[:, number : number + 112].copy()
        for bit in range(7):
            picture[12:36, 16 * bit : 16 * bit + 16] = 230 if number >> bit & 1 else 20
        frame: Any = av.VideoFrame.from_ndarray(picture, "gray").reformat(format="yuv420p")
        frame.pts, frame.time_base = number, Fraction(1, 25)
        yield frame


def _write_divx(path: Path, stored: list[tuple[bytes, bool]]) -> None:
    """Write like DivX and XviD: two frames in one packet, followed by an empty frame."""
    _pack: list[tuple[bytes, bool]] = []
    for content, is_keyframe in stored:
        if content[content.find(_BEGINS) + 4] >> 6 == 2:
            before, was_keyframe = _pack.pop()
            _pack += [(before + content, was_keyframe), (_AS_BEFORE, False)]
        else:
            _pack.append((content, is_keyframe))
    with av.open(str(path), "w") as container:
        track: Any = container.add_stream("mpeg4", rate=25)
        track.width, track.height, track.pix_fmt = 112, 48, "yuv420p"
        track.codec_context.extradata = _DIVX
        container.start_encoding()
        for number, (content, is_keyframe) in enumerate(_pack):
            packet: Any = av.Packet(content.replace(_BEGINS, _DIVX + _BEGINS, is_keyframe))
            packet.pts = packet.dts = number
            packet.time_base, packet.stream = Fraction(1, 25), track
            packet.is_keyframe, packet.duration = is_keyframe, 1
            container.mux(packet)


def number_on(frame: Any) -> int:
    picture = frame.to_ndarray(format="gray")
    bits = [picture[14:34, 16 * bit + 3 : 16 * bit + 13].mean() > 125 for bit in range(7)]
    return sum(is_set << bit for bit, is_set in enumerate(bits))


@pytest.fixture(scope="module", params=KINDS)
def source(request: pytest.FixtureRequest, videos: Path) -> VideoSource:
    codec, options = KINDS[request.param]
    if not VideoEncoder(codec).is_available:
        pytest.skip(f"this av has no {codec}")
    return VideoSource(str(numbered(videos / f"open.{request.param}", codec, options)))


STARTS = [0.88, 0.92, 1.0, 2.2]


def test_a_copy_begins_with_the_frame_at_its_start(source: VideoSource) -> None:
    facts = probe(source)
    clips = [Clip(ClipSpan(source, facts, start, start + 0.8)) for start in STARTS]
    for done in run_stages([ClipCutter("copy")], clips).outputs:
        made = done.data.encoded
        with av.open(io.BytesIO(made.content)) as container:
            shown = [number_on(frame) for frame in container.decode(video=0)]
        first, last = round(25 * done.data.start), round(25 * done.data.end)
        assert shown[0] == round(25 * made.start) <= first
        assert shown[: last - shown[0]] == list(range(shown[0], last))
        assert len(shown) == made.frames


def test_a_span_has_each_frame_at_its_time(source: VideoSource) -> None:
    for start in STARTS:
        first = round(25 * start)
        with open_video(source) as video:
            items = [
                one
                for one in decode_frames(video, start, start + 0.4)
                if isinstance(one, TimedFrame)
            ]
        found = [(round(25 * item.time), number_on(item.frame)) for item in items]
        assert found == [(number, number) for number in range(first, first + 10)]
