"""Frames that no other frame depends on are found in packets."""

from pathlib import Path

import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_video.analysis.disposable_frames import _h264_layer, _hevc_layer, find_disposable
from curator_video.container import open_video
from curator_video.source import VideoSource

QUIET = "log-level=none:pools=1:frame-threads=1"
STYLES = {
    "mp4": Style(160, 96, options={"x264-params": "bframes=3:b-adapt=0"}),
    "ts": Style(160, 96, options={"x264-params": "bframes=3:b-adapt=0"}),
    "mkv": Style(160, 96, codec="libx265", options={"x265-params": QUIET + ":b-adapt=0"}),
    "mov": Style(160, 96, codec="mpeg4"),
}


@pytest.mark.parametrize("ending", STYLES)
def test_disposable_frames_can_be_skipped(videos: Path, ending: str) -> None:
    path = write_video(videos / f"lonely.{ending}", Film([Shot(40, "pan")]), STYLES[ending])
    with open_video(VideoSource(str(path))) as video:
        packets = [packet for packet in video.container.demux(video.stream) if packet.size]
        found = find_disposable(video.stream, packets)
        assert not any(
            one.is_keyframe for one, can_go in zip(packets, found, strict=True) if can_go
        )
        decoded = [
            video.stream.codec_context.decode(one)
            for one, can_go in zip(packets, found, strict=True)
            if not can_go
        ]
    assert sum(found) == 0 if ending == "mov" else sum(found) >= 15
    left = sum(map(len, decoded)) + sum(found)
    assert 36 <= left <= 40, "the last few were not waited for"


def test_packets_with_parameter_sets_are_kept() -> None:
    b_slice, parameters = (0x01, 0x80), (0x67, 0x64)
    assert _h264_layer([b_slice, b_slice]) == 1
    assert _h264_layer([parameters, b_slice]) == -1
    assert _h264_layer([b_slice, (0x41, 0x80)]) == -1
    assert _h264_layer([]) == -1


def test_only_the_highest_hevc_layer_is_disposable() -> None:
    assert _hevc_layer([(0x00, 0x01)]) == 1
    assert _hevc_layer([(0x02, 0x01)]) == -1
    assert _hevc_layer([(0x00, 0x02)]) == 2
    assert _hevc_layer([(0x44, 0x01), (0x00, 0x01)]) == -1
