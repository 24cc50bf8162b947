"""Scoring and filtering as separate stages, and functions as rules."""

from typing import Any

import pytest
from curator_audio import (
    AudioBatch,
    DurationFilter,
    Filter,
    Score,
    ScoreFilter,
    Waveform,
    WerFilter,
)
from curator_core import PipelineError
from curator_core.testing import check_stage, run_stages


def is_loud(waveform: Waveform) -> bool:
    return bool(abs(waveform.samples).max() > 0.1)


def peak(waveform: Waveform) -> Any:
    return waveform.samples.max()


def names(outputs: list[AudioBatch]) -> list[str]:
    paths = [row["audio_filepath"] for output in outputs for row in output.to_pylist()]
    return [path.rpartition("/")[2].removesuffix(".wav") for path in paths]


@pytest.fixture
def good(batch: AudioBatch) -> AudioBatch:
    """Recordings that can be decoded: long, short and quiet."""
    return batch.take([0, 1, 2])


def test_scoring_and_filtering_in_two_steps_equal_one(good: AudioBatch) -> None:
    at_once = run_stages([DurationFilter(1.0, score_field="seconds")], [good])
    two_stages = [Score(DurationFilter(9.0), "seconds"), Filter(DurationFilter(1.0), "seconds")]
    apart = run_stages(two_stages, [good])
    assert apart.outputs[0].data.equals(at_once.outputs[0].data)
    assert apart.report.of(1).reasons == at_once.counts.reasons == {"duration below 1 s": 1}
    assert sum(apart.report.of(0).scores["score"].kept.values()) == 3


def test_functions_can_be_rules(good: AudioBatch) -> None:
    run = run_stages([ScoreFilter([is_loud, DurationFilter(1.0)], [None, "seconds"])], [good])
    assert names(run.outputs) == ["long"]
    assert run.report.of(0).reasons == {"rejected by is_loud": 1}
    assert run.report.of(1).reasons == {"duration below 1 s": 1}
    assert names(run_stages([ScoreFilter(is_loud, invert=True)], [good]).outputs) == ["quiet"]


def test_scores_of_functions_are_columns_of_the_chosen_type(good: AudioBatch) -> None:
    stages = [Score(peak, "peak"), Score(is_loud, "loud", score_type="bool")]
    [scored] = run_stages(stages, [good]).outputs
    assert scored.data["loud"].to_pylist() == [True, True, False]
    assert [value > 0.1 for value in scored.data["peak"].to_pylist()] == [True, True, False]


def test_a_failing_rule_quarantines_one_recording(good: AudioBatch) -> None:
    def picky(waveform: Waveform) -> float:
        return 1 / (len(waveform.samples[0]) - 4800)

    for stage in (ScoreFilter(picky), Score(picky, "picky")):
        run = run_stages([stage], [good], on_error="quarantine")
        assert names(run.outputs) == ["long", "quiet"]
        [record] = run.report.quarantined
        assert "ZeroDivisionError" in record.reason
        assert "(test_scoring.py:" in record.reason
        assert str(record.where).endswith("short.wav")


def test_a_column_is_filtered_without_decoding(batch: AudioBatch) -> None:
    """One of the recordings does not exist."""
    assert len(names(run_stages([Filter(DurationFilter(1.0), "duration")], [batch]).outputs)) == 4
    run = run_stages([Filter(lambda seconds: seconds < 5, "duration")], [batch])
    assert sum(run.counts.reasons.values()) == 4
    rated = batch.with_columns({"wer": [0.1, 0.5, None, 0.2]})
    run = run_stages([Filter(WerFilter(at_most=0.3), "wer")], [rated])
    assert names(run.outputs) == ["long", "missing"]
    assert run.counts.reasons == {"word error rate above 0.3": 2}


def test_wrong_rules_fail_where_they_are_created() -> None:
    with pytest.raises(PipelineError, match="DurationFilter"):
        ScoreFilter(DurationFilter)
    with pytest.raises(PipelineError, match="filter_obj"):
        ScoreFilter([])
    with pytest.raises(PipelineError, match="score_field"):
        ScoreFilter([is_loud, DurationFilter(1.0)], "a")
    [problem] = Score(peak, "peak", score_type="float").check()
    assert "score_type" in problem


@pytest.mark.parametrize(
    "stage", [*ScoreFilter(is_loud).decompose(), Score(peak, "peak"), Filter(bool, "duration")]
)
def test_stage_contract(stage: Any, good: AudioBatch) -> None:
    check_stage(stage, good)
