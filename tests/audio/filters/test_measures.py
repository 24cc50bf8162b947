"""Filters compare one measure of each recording with limits."""

import pytest
from curator_audio import (
    AudioBatch,
    BandwidthFilter,
    DurationFilter,
    LoudnessFilter,
    SnrFilter,
)
from curator_core import Dropped
from curator_core.testing import check_stage, run_stages


def kept_names(stage: object, batch: AudioBatch) -> list[str]:
    outputs = run_stages([stage], [batch], on_error="quarantine").outputs  # type: ignore[list-item]
    paths = [row["audio_filepath"] for output in outputs for row in output.to_pylist()]
    return [path.rpartition("/")[2].removesuffix(".wav") for path in paths]


def test_filters_drop_with_a_reason_and_quarantine_what_cannot_be_decoded(
    batch: AudioBatch,
) -> None:
    run = run_stages(
        [DurationFilter(1.0, 4.0, score_field="seconds")], [batch], on_error="quarantine"
    )
    [kept] = run.outputs
    [row] = kept.to_pylist()
    assert row["audio_filepath"].endswith("quiet.wav")
    assert row["seconds"] == 3.0
    assert run.counts.reasons == {"duration above 4 s": 1, "duration below 1 s": 1}
    lengths = run.counts.scores["duration"]
    assert (sum(lengths.kept.values()), sum(lengths.dropped.values())) == (1, 2)
    assert run.counts.items_rejected == 1


def test_dropped_rows_can_be_kept(batch: AudioBatch) -> None:
    [note] = [one for one in DurationFilter(1.0).process(batch) if isinstance(one, Dropped)]
    records = note.records() if callable(note.records) else note.records
    assert records is not None
    assert records.num_items == 1


def test_recordings_too_short_for_a_loudness_are_dropped_with_a_reason(batch: AudioBatch) -> None:
    run = run_stages([LoudnessFilter(at_least=-40.0)], [batch], on_error="quarantine")
    assert run.counts.reasons == {
        "loudness unknown: too short": 1,
        "loudness below -40 LUFS": 1,
    }


def test_invert_swaps_kept_and_dropped(batch: AudioBatch) -> None:
    assert kept_names(DurationFilter(1.0), batch) == ["long", "quiet"]
    inverted = DurationFilter(1.0, invert=True)
    assert kept_names(inverted, batch) == ["short"]
    run = run_stages([inverted], [batch], on_error="quarantine")
    assert run.counts.reasons == {"not: duration below 1 s": 2}


def test_an_unknown_measure_never_passes(batch: AudioBatch) -> None:
    assert kept_names(LoudnessFilter(-40.0), batch) == ["long"]
    assert kept_names(LoudnessFilter(-40.0, invert=True), batch) == ["quiet"]


def test_without_limits_everything_is_kept(batch: AudioBatch) -> None:
    assert len(kept_names(LoudnessFilter(score_field="lufs"), batch)) == 3


def test_missing_and_contradictory_limits_are_reported() -> None:
    [problem] = SnrFilter().check()
    assert "keeps everything" in problem
    [problem] = SnrFilter(score_field="snr", invert=True).check()
    assert "drops everything" in problem
    [problem] = SnrFilter(20, 10).check()
    assert "at_least is 20" in problem
    assert not list(SnrFilter(score_field="snr").check())


@pytest.mark.parametrize("stage", [BandwidthFilter(4_000.0), SnrFilter(at_most=90)], ids=type)
def test_stage_contract(stage: BandwidthFilter, batch: AudioBatch) -> None:
    check_stage(stage, batch.take([0, 1, 2]))
