from pathlib import Path

import pytest
from curator_video.clips import Clip, Encoded, Span
from curator_video.probing import probe
from curator_video.sources import VideoSource
from curator_video.videos import Video
from curator_video.windows import Window


def clip(path: Path, start: float = 1.0) -> Clip:
    source = VideoSource(str(path), 10, "v1")
    return Clip(Span(source, probe(source), start, 3.0, 2, {"motion": 0.5}), "set", {"k": 1})


def test_a_video_comes_back_from_its_payload(broken: dict[str, Path]) -> None:
    source = VideoSource(str(broken["good"]), 10, "v1", storage_options={"key": "secret"})
    video = Video(source, "set", {"author": "x"}, facts=probe(source))
    payload = video.to_payload()
    assert b"secret" not in payload
    assert Video.from_payload(payload) == video


def test_bytes_in_memory_come_back_too() -> None:
    video = Video.of("a.mp4", b"\x00\xff bytes")
    assert Video.from_payload(video.to_payload()) == video
    assert video.num_bytes == 8


def test_a_clip_comes_back_with_what_was_cut(broken: dict[str, Path]) -> None:
    before = clip(broken["good"])
    cut = before.with_encoded(Encoded(b"clip", 1, 3, 50, "h264", "exact"))
    assert cut.num_bytes == 4
    assert Clip.from_payload(cut.to_payload()) == cut


def test_what_models_made_of_a_clip_comes_back(broken: dict[str, Path]) -> None:
    window = Window(0, 50, 1.0, 3.0).with_caption("caption", "a dog")
    before = clip(broken["good"]).with_vector("embedding", [0.6, 0.8]).with_windows([window])
    previewed = before.with_preview(b"webp")
    assert previewed.num_bytes == 4
    assert Clip.from_payload(previewed.to_payload()) == previewed


def test_ids_follow_from_path_and_span(broken: dict[str, Path]) -> None:
    one, other = clip(broken["good"]), clip(broken["good"], 1.5)
    assert one.clip_id == clip(broken["good"]).with_scores(blur=1.0).clip_id
    assert one.clip_id != other.clip_id
    assert one.place.endswith("good.mp4[1.00-3.00 s]")


def test_scores_are_added_to_a_copy(broken: dict[str, Path]) -> None:
    before = clip(broken["good"])
    before.derived["seen"] = 1
    after = before.with_scores(blur=2.0)
    assert after.scores == {"motion": 0.5, "blur": 2.0}
    assert before.scores == {"motion": 0.5}
    assert after.derived == {"seen": 1}


def test_a_video_plays_as_long_as_its_facts_say_and_a_clip_its_span(harbour: Path) -> None:
    video = Video.of(str(harbour))
    assert video.playing_ms == 0
    video.facts = video.probed()
    assert video.playing_ms == pytest.approx(12_000, abs=50)
    span = Span(video.data, video.facts, 1.0, 3.5)
    assert Clip(span).playing_ms == 2500
