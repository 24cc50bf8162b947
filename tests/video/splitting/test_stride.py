from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import av
import pytest
from corpus.films import Film, Shot
from corpus.videos import Style, write_video
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video.analysis import examining
from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Clip
from curator_video.cutting.stages import ClipCutter
from curator_video.probing import probe
from curator_video.sharing import LookingStage
from curator_video.sources import VideoSource
from curator_video.splitting.stride import FixedStrideSplitter
from curator_video.videos import Video


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


def test_ids_are_the_same_each_time(harbour: Path) -> None:
    first, second = (run_stage(FixedStrideSplitter(4), video(harbour)) for _ in range(2))
    assert [clip.clip_id for clip in first] == [clip.clip_id for clip in second]
    assert len({clip.clip_id for clip in first}) == 3
    recipe = run_stage(FixedStrideSplitter(4.0), video(harbour))
    assert [clip.clip_id for clip in recipe] == [clip.clip_id for clip in first]


def test_what_is_too_short_is_counted_with_its_reason(broken: dict[str, Path]) -> None:
    ran = run_stages([FixedStrideSplitter()], [video(broken["one picture"])])
    assert ran.outputs == []
    assert ran.counts.reasons == {"shorter than 2 s": 1}


@pytest.mark.parametrize("kind", ["mkv", "avi"])
def test_the_last_clip_of_a_video_that_was_cut_short_ends_with_its_pictures(
    videos: Path, tmp_path: Path, kind: str
) -> None:
    """Headers say something else: where it ended before, or what they guess by its size."""
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


def test_a_header_that_claims_years_makes_no_millions_of_clips(harbour: Path) -> None:
    claims = video(harbour)
    claims.facts = replace(probe(claims.data), duration=1e8)
    clips = run_stage(FixedStrideSplitter(4), claims)
    assert 3 < len(clips) <= 104


def test_options_that_make_no_sense_are_told() -> None:
    assert (
        next(iter(FixedStrideSplitter(0).check())) == "clip_length_s is 0, but must be more than 0"
    )
    [told] = FixedStrideSplitter(1).check()
    assert told.startswith("min_length_s is 2.0, more than clip_length_s of 1; every clip")


def test_it_keeps_what_every_stage_promises(harbour: Path) -> None:
    check_stage(FixedStrideSplitter(4), video(harbour))


@dataclass
class Look(LookingStage):
    """Counts the pictures that it sees."""

    look: Wanted

    def wanted(self) -> Wanted:
        return self.look

    def process(self, task: Clip) -> Clip:
        found = self.findings(task)
        return task.with_scores(**{self.name: len(found.observations)})


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[float, float | None]]]:
    """The spans that were decoded."""
    seen: list[tuple[float, float | None]] = []
    real = examining.opened

    def counting(source: VideoSource) -> object:
        seen.append((0, None))
        return real(source)

    monkeypatch.setattr(examining, "opened", counting)
    return seen


def planned(*stages: LookingStage | FixedStrideSplitter) -> list[LookingStage]:
    return [stage.followed_by(stages[i + 1 :]) for i, stage in enumerate(stages)]  # type: ignore[misc]


LUMA, FRAMES = Wanted(luma=True), Wanted(frames=frozenset({Sampling(1.0)}))


def test_stages_share_one_decode_of_the_video(harbour: Path, decodes: list[object]) -> None:
    looks = [Look(LUMA).with_(name="a"), Look(FRAMES).with_(name="b")]
    line = planned(FixedStrideSplitter(4), *looks)
    ran = run_stages(line, [video(harbour)])
    assert len(decodes) == 1
    assert [clip.scores for clip in ran.outputs] == [{"a": 100, "b": 100}] * 3


def test_where_nothing_was_decoded_before_each_clip_is_decoded_once(
    harbour: Path, decodes: list[object]
) -> None:
    clips = run_stage(FixedStrideSplitter(4), video(harbour))
    looks = planned(Look(FRAMES).with_(name="a"), Look(LUMA).with_(name="b"))
    assert len(run_stages(looks, clips).outputs) == 3
    assert len(decodes) == 3


def test_pictures_at_a_rate_are_decoded_clip_by_clip(harbour: Path, decodes: list[object]) -> None:
    ran = run_stages(planned(FixedStrideSplitter(4), Look(FRAMES)), [video(harbour)])
    assert [clip.scores for clip in ran.outputs] == [{"look": 4}] * 3
    assert len(decodes) == 3


def test_damage_costs_the_clips_that_it_is_in(broken: dict[str, Path]) -> None:
    line = planned(FixedStrideSplitter(1, min_length_s=0.5), Look(LUMA))
    ran = run_stages(line, [video(broken["damaged middle"])], on_error="quarantine")
    assert [clip.data.start for clip in ran.outputs] == [2.0, 3.0]
    [record] = ran.report.quarantined
    assert "Invalid data" in record.reason
    assert record.items == 2


def test_a_missing_end_costs_the_clips_behind_it(broken: dict[str, Path]) -> None:
    line = planned(FixedStrideSplitter(1, min_length_s=0.5), Look(LUMA))
    ran = run_stages(line, [video(broken["missing end"])], on_error="quarantine")
    assert [clip.data.start for clip in ran.outputs] == [0.0, 1.0]
    assert sum(record.items for record in ran.report.quarantined) >= 2
