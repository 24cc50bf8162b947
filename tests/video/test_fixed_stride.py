"""Videos are split into clips of equal length, in one decode with later stages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import av
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video.analysis import shared_decode
from curator_video.analysis.frame_stage import FrameStage
from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.sampling import Sampling
from curator_video.cutting.cutter import ClipCutter
from curator_video.fixed_stride import FixedStrideSplitter
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, Video


def video(path: Path) -> Video:
    source = VideoSource(str(path))
    return Video(source, facts=probe(source))


def edges(stage: FixedStrideSplitter, path: Path) -> list[tuple[float, float]]:
    return [(clip.data.start, clip.data.end) for clip in run_stage(stage, video(path))]


@pytest.mark.parametrize(
    ("stage", "wanted"),
    [
        (FixedStrideSplitter(), [(0, 10), (10, 12)]),
        (FixedStrideSplitter(min_length_s=3), [(0, 10)]),
        (FixedStrideSplitter(5), [(0, 5), (5, 10), (10, 12)]),
        (FixedStrideSplitter(5, stride_s=4), [(0, 5), (4, 9), (8, 12)]),
        (FixedStrideSplitter(3, stride_s=6), [(0, 3), (6, 9)]),
        (FixedStrideSplitter(2, limit=2), [(0, 2), (2, 4)]),
    ],
)
def test_clips_follow_each_other(
    harbour: Path, stage: FixedStrideSplitter, wanted: list[tuple[float, float]]
) -> None:
    assert edges(stage, harbour) == wanted


def test_clip_ids_are_stable(harbour: Path) -> None:
    first, second = (run_stage(FixedStrideSplitter(4), video(harbour)) for _ in range(2))
    assert [clip.clip_id for clip in first] == [clip.clip_id for clip in second]
    assert len({clip.clip_id for clip in first}) == 3
    recipe = run_stage(FixedStrideSplitter(4.0), video(harbour))
    assert [clip.clip_id for clip in recipe] == [clip.clip_id for clip in first]


def test_short_videos_are_dropped_with_a_reason(broken: dict[str, Path]) -> None:
    ran = run_stages([FixedStrideSplitter()], [video(broken["one picture"])])
    assert ran.outputs == []
    assert ran.counts.reasons == {"shorter than 2 s": 1}


@pytest.mark.parametrize("kind", ["mkv", "avi"])
def test_the_last_clip_of_a_truncated_video_ends_with_its_frames(
    videos: Path, tmp_path: Path, kind: str
) -> None:
    """Headers declare the original duration, or one guessed from the size."""
    style = {"avi": Style(codec="mpeg4", options={"bf": "2"})}.get(kind)
    whole = write_video(
        videos / f"uneven.{kind}", Film([Shot(75, "frozen"), Shot(50, "pan")]), style
    )
    path = tmp_path / f"short.{kind}"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
    clips = run_stages([FixedStrideSplitter(3, min_length_s=1), ClipCutter()], [video(path)])
    first, last = (clip.data for clip in clips.outputs)
    assert (first.start, first.end, last.start) == (0, 3, 3)
    assert 4 < last.end < 5
    assert last.encoded.end == pytest.approx(last.end)
    with av.open(str(path)) as container:
        stored = [one for one in container.demux(video=0) if one.size and not one.is_corrupt]
    assert first.encoded.frames + last.encoded.frames == len(stored)


def test_a_header_that_claims_years_makes_few_clips(harbour: Path) -> None:
    claims = video(harbour)
    claims.facts = replace(probe(claims.data), duration=1e8)
    clips = run_stage(FixedStrideSplitter(4), claims)
    assert 3 < len(clips) <= 104


def test_wrong_options_are_reported() -> None:
    assert (
        next(iter(FixedStrideSplitter(0).check())) == "clip_length_s is 0, but must be more than 0"
    )
    [reported] = FixedStrideSplitter(1).check()
    assert reported.startswith("min_length_s is 2.0, more than clip_length_s of 1; every clip")


def test_stage_contract(harbour: Path) -> None:
    check_stage(FixedStrideSplitter(4), video(harbour))


@dataclass
class Look(FrameStage):
    """Record the number of measured frames."""

    look: FrameNeeds

    def frame_needs(self) -> FrameNeeds:
        return self.look

    def process(self, task: Clip) -> Clip:
        found = self.analyze(task)
        return task.with_scores(**{self.name: len(found.measurements)})


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[float, float | None]]]:
    """Record each time that a video is opened."""
    seen: list[tuple[float, float | None]] = []
    real = shared_decode.open_video

    def counting(source: VideoSource) -> object:
        seen.append((0, None))
        return real(source)

    monkeypatch.setattr(shared_decode, "open_video", counting)
    return seen


def planned(*stages: FrameStage | FixedStrideSplitter) -> list[FrameStage]:
    return list(stages)  # type: ignore[arg-type]


LUMA, FRAMES = FrameNeeds(luma=True), FrameNeeds(frames=frozenset({Sampling(1.0)}))


def test_stages_share_one_decode_per_video(harbour: Path, decodes: list[object]) -> None:
    looks = [Look(LUMA).with_(name="a"), Look(FRAMES).with_(name="b")]
    line = planned(FixedStrideSplitter(4), *looks)
    ran = run_stages(line, [video(harbour)])
    assert len(decodes) == 1
    assert [clip.scores for clip in ran.outputs] == [{"a": 100, "b": 100}] * 3


def test_stages_share_one_decode_per_clip(harbour: Path, decodes: list[object]) -> None:
    clips = run_stage(FixedStrideSplitter(4), video(harbour))
    looks = planned(Look(FRAMES).with_(name="a"), Look(LUMA).with_(name="b"))
    assert len(run_stages(looks, clips).outputs) == 3
    assert len(decodes) == 3


def test_sampled_frames_are_decoded_clip_by_clip(harbour: Path, decodes: list[object]) -> None:
    ran = run_stages(planned(FixedStrideSplitter(4), Look(FRAMES)), [video(harbour)])
    assert [clip.scores for clip in ran.outputs] == [{"look": 4}] * 3
    assert len(decodes) == 3


def test_damage_rejects_only_the_clips_it_touches(broken: dict[str, Path]) -> None:
    line = planned(FixedStrideSplitter(1, min_length_s=0.5), Look(LUMA))
    ran = run_stages(line, [video(broken["damaged middle"])], on_error="quarantine")
    assert [clip.data.start for clip in ran.outputs] == [2.0, 3.0]
    [record] = ran.report.quarantined
    assert "Invalid data" in record.reason
    assert record.items == 2


def test_a_missing_end_rejects_the_clips_after_it(broken: dict[str, Path]) -> None:
    line = planned(FixedStrideSplitter(1, min_length_s=0.5), Look(LUMA))
    ran = run_stages(line, [video(broken["missing end"])], on_error="quarantine")
    assert [clip.data.start for clip in ran.outputs] == [0.0, 1.0]
    assert sum(record.items for record in ran.report.quarantined) >= 2
