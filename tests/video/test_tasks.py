"""Videos and clips survive a payload, and have stable ids."""

from pathlib import Path

import pytest
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import CaptionWindow, Clip, ClipSpan, EncodedClip, Video


def clip(path: Path, start: float = 1.0) -> Clip:
    source = VideoSource(str(path), 10, "v1")
    return Clip(ClipSpan(source, probe(source), start, 3.0, 2, {"motion": 0.5}), "set", {"k": 1})


def test_a_video_payload_round_trips_without_secrets(broken: dict[str, Path]) -> None:
    source = VideoSource(str(broken["good"]), 10, "v1", storage_options={"key": "secret"})
    video = Video(source, "set", {"author": "x"}, facts=probe(source))
    payload = video.to_payload()
    assert b"secret" not in payload
    assert Video.from_payload(payload) == video


def test_a_video_payload_keeps_bytes() -> None:
    video = Video.of("a.mp4", b"\x00\xff bytes")
    assert Video.from_payload(video.to_payload()) == video
    assert video.num_bytes == 8


def test_a_clip_payload_keeps_its_file(broken: dict[str, Path]) -> None:
    before = clip(broken["good"])
    cut = before.with_encoded(EncodedClip(b"clip", 1, 3, 50, "h264", "exact"))
    assert cut.num_bytes == 4
    assert Clip.from_payload(cut.to_payload()) == cut


def test_a_clip_payload_keeps_model_outputs(broken: dict[str, Path]) -> None:
    window = CaptionWindow(0, 50, 1.0, 3.0).with_caption("caption", "a dog")
    before = clip(broken["good"]).with_vector("embedding", [0.6, 0.8]).with_windows([window])
    previewed = before.with_preview(b"webp")
    assert previewed.num_bytes == 4
    assert Clip.from_payload(previewed.to_payload()) == previewed


def test_clip_ids_depend_on_path_and_span(broken: dict[str, Path]) -> None:
    one, other = clip(broken["good"]), clip(broken["good"], 1.5)
    assert one.clip_id == clip(broken["good"]).with_scores(blur=1.0).clip_id
    assert one.clip_id != other.clip_id
    assert one.describe().endswith("good.mp4[1.00-3.00 s]")


def test_scores_are_added_to_a_copy(broken: dict[str, Path]) -> None:
    before = clip(broken["good"])
    before.derived["seen"] = 1
    after = before.with_scores(blur=2.0)
    assert after.scores == {"motion": 0.5, "blur": 2.0}
    assert before.scores == {"motion": 0.5}
    assert after.derived == {"seen": 1}


def test_playing_time_is_that_of_facts_and_span(harbour: Path) -> None:
    video = Video.of(str(harbour))
    assert video.playing_ms == 0
    video.facts = video.get_facts()
    assert video.playing_ms == pytest.approx(12_000, abs=50)
    span = ClipSpan(video.data, video.facts, 1.0, 3.5)
    assert Clip(span).playing_ms == 2500


def test_previews_describe_videos_and_clips(broken: dict[str, Path]) -> None:
    made = clip(broken["good"])
    video = Video(made.data.source, facts=made.data.facts)
    [facts] = video.describe_items()
    assert (facts["path"], facts["width"]) == (str(broken["good"]), made.data.facts.width)
    [facts] = made.describe_items()
    assert (facts["start"], facts["end"], facts["duration"], facts["motion"]) == (
        1.0,
        3.0,
        2.0,
        0.5,
    )
    for task in (video, made):
        assert (task.thumbnail(0) or b"")[:2] == b"\xff\xd8"


def test_a_video_that_cannot_be_read_has_no_thumbnail() -> None:
    assert Video.of("a.mp4", b"no video").thumbnail(0) is None
