"""Facts of every container are read; files that are not videos are refused with a reason."""

from fractions import Fraction
from pathlib import Path

import av
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_video.container import UnreadableVideoError, open_video
from curator_video.cutting.stream_copy import copy_clip
from curator_video.decoding import decode_frames
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan

FILM = Film([Shot(30), Shot(30)])
CODECS = {
    "mp4": ("libx264", "aac", "h264"),
    "mov": ("libx264", "aac", "h264"),
    "mkv": ("libx265", "libopus", "hevc"),
    "webm": ("libvpx-vp9", "libopus", "vp9"),
    "avi": ("mpeg4", "libmp3lame", "mpeg4"),
    "ts": ("libx264", "aac", "h264"),
}


@pytest.mark.parametrize("ending", CODECS)
def test_every_container_is_probed(videos: Path, ending: str) -> None:
    codec, audio, name = CODECS[ending]
    options = {"deadline": "realtime", "cpu-used": "8"} if "vpx" in codec else {}
    options |= {"x265-params": "log-level=none"} if "265" in codec else {}
    style = Style(codec=codec, audio=audio, options=options)
    facts = probe(VideoSource(str(write_video(videos / f"probed.{ending}", FILM, style))))
    assert (facts.codec, facts.width, facts.height, facts.fps) == (name, 320, 180, 25)
    assert facts.duration == pytest.approx(2.4, abs=0.15)
    assert (facts.rotation, facts.is_variable, facts.bit_depth) == (0, False, 8)
    assert facts.audio
    assert (facts.audio.sample_rate, facts.audio.channels) == (48000, 1)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_sizes_are_those_of_the_rotated_frame(videos: Path, rotation: int) -> None:
    path = write_video(videos / f"turned{rotation}.mp4", FILM, Style(rotation=rotation))
    facts = probe(VideoSource(str(path)))
    assert facts.rotation == rotation
    assert (facts.width, facts.height) == ((320, 180) if rotation == 180 else (180, 320))


@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts"])
def test_a_variable_frame_rate_is_detected(videos: Path, ending: str) -> None:
    path = write_video(videos / f"variable.{ending}", FILM, Style(is_variable=True))
    assert probe(VideoSource(str(path))).is_variable


@pytest.mark.parametrize("fps", [24, 30, 50])
def test_rounded_times_are_not_a_variable_rate(videos: Path, fps: int) -> None:
    path = write_video(videos / f"constant{fps}.mkv", FILM, Style(fps=fps))
    assert not probe(VideoSource(str(path))).is_variable


def test_depth_and_size_are_as_stored(broken: dict[str, Path]) -> None:
    ten = probe(VideoSource(str(broken["ten bits"])))
    odd = probe(VideoSource(str(broken["odd size"])))
    assert (ten.bit_depth, ten.pixel_format) == (10, "yuv420p10le")
    assert (odd.width, odd.height) == (321, 181)


def test_the_file_extension_does_not_matter(broken: dict[str, Path]) -> None:
    assert probe(VideoSource(str(broken["wrong ending"]))).container == "matroska,webm"


def test_a_colon_in_the_name_is_not_a_protocol(broken: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "concat:one.mp4"
    path.write_bytes(broken["good"].read_bytes())
    assert probe(VideoSource(str(path))).frames == 100


def test_headers_that_claim_frames_of_minutes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "slow.avi"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(1, 100))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(4):
            frame = av.VideoFrame(64, 48, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(100)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(UnreadableVideoError, match=r"shown for 100 s: its headers are damaged"):
        probe(VideoSource(str(path)))


def test_bytes_in_memory_can_be_probed(broken: dict[str, Path]) -> None:
    content = broken["good"].read_bytes()
    assert probe(VideoSource("elsewhere.mp4", len(content), content=content)).frames == 100


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("empty", "is empty (0 bytes)"),
        ("cut short", "cannot be opened as a video: it is cut short, damaged, or none of mp4"),
        ("text", "is a web page (HTML), not a video"),
        ("playlist", "cannot be opened as a video"),
        ("no picture", "cannot be opened as a video"),
        ("only sound", "has no video track, only audio (aac)"),
    ],
)
def test_files_that_are_not_videos_are_refused_with_the_reason(
    broken: dict[str, Path], kind: str, reason: str
) -> None:
    with pytest.raises(UnreadableVideoError) as caught:
        probe(VideoSource(str(broken[kind])))
    assert reason in str(caught.value)
    assert broken[kind].name in str(caught.value)


def test_streams_that_appear_later_are_ignored(videos: Path) -> None:
    """Return a packet of a stream that the headers do not list, as in recordings of broadcasts."""
    whole = write_video(videos / "broadcast.ts", FILM).read_bytes()
    late = bytes.fromhex("47430010000001e000008080052100010001")
    content = whole + late.ljust(188, b"\xff")
    source = VideoSource("late.ts", len(content), content=content)
    facts = probe(source)
    assert facts.duration == pytest.approx(2.4, abs=0.15)
    with open_video(source) as video:
        shown = list(decode_frames(video))
    assert len(shown) == 60
    span = ClipSpan(source, facts, 0.0, facts.duration)
    assert copy_clip(span, keep_audio=False).frames == 60


def test_joined_transport_streams_are_refused(videos: Path) -> None:
    film = Film([Shot(50), Shot(50)])
    one = write_video(videos / "recording.ts", film, Style(audio="aac"))
    assert probe(VideoSource(str(one))).duration == pytest.approx(4, abs=0.15)
    joined = one.read_bytes() * 2
    with pytest.raises(
        UnreadableVideoError, match=r"twice.ts was joined .* from 3.* to .*ffmpeg -i"
    ):
        probe(VideoSource("twice.ts", len(joined), content=joined))
