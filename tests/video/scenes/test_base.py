"""Shots are found in one pass, and clips are made of them as they complete."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus.films import Film, Shot, random_film
from corpus.scenes import Screen
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video.analysis.frame_stage import cached_analysis
from curator_video.analysis.measurements import FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling
from curator_video.probing import probe
from curator_video.scenes.base import ClipLengths, OpenShot, ShotDetector
from curator_video.scenes.histogram import HistogramDetector, HistogramShotSplitter
from curator_video.source import VideoSource
from curator_video.tasks import Clip, Video


def video(path: Path) -> Video:
    source = VideoSource(str(path))
    return Video(source, facts=probe(source))


def thumbs(film: Film) -> list[Pixels]:
    return list(film.pictures(Screen(48, 27)))


def ends(detector: ShotDetector, pictures: Sequence[Pixels]) -> list[int]:
    decisions = [flag for picture in pictures for flag in detector.push(picture)]
    decisions += detector.finish()
    assert len(decisions) == len(pictures), "one decision per frame"
    return [place for place, is_end in enumerate(decisions) if is_end]


def edges(stage: Any, path: Path) -> list[tuple[float, float]]:
    return [(clip.data.start, clip.data.end) for clip in run_stage(stage, video(path))]


@pytest.mark.parametrize("seed", range(4))
def test_hard_cuts_are_found_exactly(seed: int) -> None:
    film = random_film(30, 25, seed)
    found = ends(HistogramDetector(), thumbs(film))
    assert found == [one.at - 1 for one in film.transitions]


def test_a_flash_is_not_a_cut() -> None:
    film = Film([Shot(60, "pan", flash=30), Shot(60, "still")], seed=3)
    assert ends(HistogramDetector(), thumbs(film)) == [59]


def test_finish_resets_the_detector() -> None:
    detector, pictures = HistogramDetector(), thumbs(Film([Shot(30), Shot(30)]))
    assert ends(detector, pictures) == ends(detector, pictures) == [29]
    assert ends(detector, []) == []


@pytest.mark.parametrize(
    ("lengths", "wanted"),
    [
        (ClipLengths(2, 10, "stride", 0), [(1, 11), (11, 21), (21, 26)]),
        (ClipLengths(2, 10, "stride", 0.5), [(1.5, 11.5), (11.5, 21.5), (21.5, 25.5)]),
        (ClipLengths(6, 10, "stride", 0), [(1, 11), (11, 21)]),
        (ClipLengths(2, 10, "truncate", 0.5), [(1.5, 11.5)]),
        (ClipLengths(2, 60, "stride", 0.5), [(1.5, 25.5)]),
        (ClipLengths(30, 60, "stride", 0.5), []),
    ],
)
def test_long_shots_become_several_clips(lengths: ClipLengths, wanted: list[Any]) -> None:
    early, late = OpenShot(1.0, lengths), OpenShot(1.0, lengths)
    on_the_way = [one for time in np.arange(1, 26, 0.04) for one in early.extend(float(time))]
    assert [*on_the_way, *early.close(26.0)] == wanted
    assert list(late.close(26.0)) == wanted


def test_clips_are_within_their_shots(harbour: Path) -> None:
    assert edges(HistogramShotSplitter(), harbour) == [(0.5, 3.5), (4.5, 7.5), (8.5, 11.5)]
    assert edges(HistogramShotSplitter(crop_s=0, max_length_s=2), harbour) == [
        (float(start), start + 2.0) for start in range(0, 12, 2)
    ]


def test_shot_clips_carry_measurements_for_later_stages(harbour: Path) -> None:
    second = Sampling(1.0)
    stage = HistogramShotSplitter()
    stage.later_needs = FrameNeeds(luma=True, frames=frozenset({second}))
    clips = [clip for clip in stage.process(video(harbour)) if isinstance(clip, Clip)]
    assert len(clips) == 3
    for clip in clips:
        found = cached_analysis(clip)
        assert len(found.measurements) == 75
        assert [round(t % 1, 3) for t, _ in found.sampled_frames(second)] == [0, 0, 0]
        assert all(one.thumb is None for one in found.measurements)


def test_damage_ends_a_shot_and_the_next_begins_after_it(broken: dict[str, Path]) -> None:
    stage = HistogramShotSplitter(min_length_s=0.3, crop_s=0)
    ran = run_stages([stage], [video(broken["damaged middle"])], on_error="quarantine")
    found = [(clip.data.start, clip.data.end) for clip in ran.outputs]
    assert found[0][0] == 0
    assert found[0][1] < 1.2
    assert found[1:] == [(2.0, 4.0)]
    [record] = ran.report.quarantined
    assert record.where.startswith(str(broken["damaged middle"]))


def test_a_video_without_a_shot_is_dropped_with_a_reason(broken: dict[str, Path]) -> None:
    ran = run_stages([HistogramShotSplitter()], [video(broken["one picture"])])
    assert ran.counts.reasons == {"no shot of 2 s": 1}


def test_stage_contract(harbour: Path) -> None:
    check_stage(HistogramShotSplitter(), video(harbour))


def test_wrong_options_are_reported() -> None:
    [reported] = HistogramShotSplitter(long_scenes="strid").check()  # type: ignore[arg-type]
    assert reported == "long_scenes is 'strid' (did you mean stride?)"
