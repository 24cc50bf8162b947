"""Every frame has its time, and damage is reported where it is."""

from pathlib import Path

import av
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_video.container import open_video
from curator_video.decoding import DamagedSpan, TimedFrame, decode_frames
from curator_video.source import VideoSource


def walk(
    path: Path, start: float = 0, end: float | None = None
) -> tuple[list[float], list[DamagedSpan]]:
    with open_video(VideoSource(str(path))) as video:
        items = list(decode_frames(video, start, end))
    times = [round(item.time, 4) for item in items if isinstance(item, TimedFrame)]
    return times, [item for item in items if isinstance(item, DamagedSpan)]


@pytest.mark.parametrize("kind", ["good", "odd size", "ten bits", "turned", "wrong ending"])
def test_every_frame_has_its_time(broken: dict[str, Path], kind: str) -> None:
    times, damage = walk(broken[kind])
    assert times == [round(number / 25, 4) for number in range(100)]
    assert not damage


def shifted(good: Path, path: Path, number: int, by: int) -> Path:
    """Copy a video, moving the timestamp of one frame."""
    with av.open(str(good)) as source, av.open(str(path), "w") as container:
        stream = container.add_stream_from_template(source.streams.video[0])
        for place, packet in enumerate(source.demux(video=0)):
            if packet.dts is not None and packet.pts is not None:
                packet.pts += by if place == number else 0
                packet.stream = stream
                container.mux(packet)
    return path


def test_one_wrong_timestamp_affects_no_other_frame(
    broken: dict[str, Path], tmp_path: Path
) -> None:
    path = shifted(broken["good"], tmp_path / "shifted.mp4", 30, 12_800 * 2)
    times, damage = walk(path)
    assert times == [round(number / 25, 4) for number in range(100)]
    assert not damage
    times, _ = walk(path, 1.0, 2.0)
    assert times == [round(number / 25, 4) for number in range(25, 50)]


def test_missing_timestamps_follow_the_frame_rate(broken: dict[str, Path]) -> None:
    times, damage = walk(broken["no timestamps"])
    assert times == [round(number / 25, 4) for number in range(100)]
    assert not damage


@pytest.mark.parametrize("start", [0.52, 2.0, 2.04, 3.0, 3.96])
def test_avi_frame_times_do_not_depend_on_the_start(videos: Path, start: float) -> None:
    """For H.264 in AVI, only the order of the stored frames is known."""
    path = videos / "pyramid.avi"
    if not path.exists():
        style = Style(options={"x264-params": "bframes=5:b-adapt=0"})
        write_video(path, Film([Shot(100, "pan")]), style)
    times, damage = walk(path, start)
    assert times == [round(number / 25, 4) for number in range(round(start * 25), 100)]
    assert not damage


def test_a_single_frame_is_a_video(broken: dict[str, Path]) -> None:
    assert walk(broken["one picture"]) == ([0.0], [])


def test_a_span_has_exactly_its_frames(broken: dict[str, Path]) -> None:
    times, damage = walk(broken["good"], 1.0, 2.0)
    assert times == [round(1 + number / 25, 4) for number in range(25)]
    assert not damage


@pytest.mark.parametrize("start", [2.04, 2.2, 4.8])
def test_intra_refresh_loses_no_frames(refreshed: Path, start: float) -> None:
    times, damage = walk(refreshed, start, start + 0.72)
    assert times == [round(start + number / 25, 4) for number in range(18)]
    assert not damage


def test_frames_outside_the_damage_are_decoded(broken: dict[str, Path]) -> None:
    times, [damage] = walk(broken["damaged middle"])
    assert 0.4 < damage.start < 1.2
    assert damage.end == pytest.approx(2.0)
    assert "Invalid data" in damage.reason
    assert [time for time in times if damage.start <= time < damage.end] == []
    assert times[-50:] == [round(2 + number / 25, 4) for number in range(50)]


def test_damage_outside_the_span_is_ignored(broken: dict[str, Path]) -> None:
    times, damage = walk(broken["damaged middle"], 2.5, 3.0)
    assert times[0] == 2.52
    assert len(times) == 12
    assert not damage


def test_lost_packets_are_damage(lossy: Path) -> None:
    times, [damage] = walk(lossy)
    assert damage.reason == "damaged packets"
    assert 2.5 < damage.start < 2.8
    assert damage.end == 4.0
    assert [time for time in times if time >= 2.8] == [round(k / 25, 4) for k in range(100, 150)]
    for start, end in ((0.0, 2.0), (4.0, None)):
        times, damage = walk(lossy, start, end)
        assert len(times) == 50
        assert not damage


def test_a_missing_end_is_damage(broken: dict[str, Path]) -> None:
    times, [damage] = walk(broken["missing end"])
    assert times[-1] < 2.5
    assert damage.end == 4.0
    assert f"the frames end after {damage.start:.1f} of 4.0 s" in damage.reason
