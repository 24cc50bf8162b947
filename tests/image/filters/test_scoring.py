"""Scoring and filtering as separate stages, and functions as rules."""

import pytest
from curator_core import PipelineError
from curator_core.testing import run_stages
from curator_image.filters.picture import Picture
from curator_image.filters.quality import BlurFilter
from curator_image.filters.scoring import Filter, Score, ScoreFilter
from curator_image.filters.size import SizeFilter
from curator_image.filters.values import ValueFilter
from sample_pictures import FLAT, NOISE, SOFT, batch_of, keys_of


def test_scoring_and_filtering_in_two_steps_equal_one() -> None:
    batch = batch_of(NOISE, SOFT)
    at_once = run_stages([ScoreFilter(BlurFilter(), "blur")], [batch])
    apart = run_stages([Score(BlurFilter(), "blur"), Filter(BlurFilter(), "blur")], [batch])
    by_value = run_stages([Score(BlurFilter(), "blur"), ValueFilter("blur", least=100)], [batch])
    for run in (apart, by_value):
        assert run.outputs[0].data.equals(at_once.outputs[0].data)
    assert apart.report.of(1).reasons == {"sharpness under 100": 1}
    assert by_value.report.of(1).reasons == {"blur under 100": 1}


def test_functions_can_be_rules() -> None:
    def is_wide(picture: Picture) -> bool:
        return picture.header.width > picture.header.height

    stage = ScoreFilter([is_wide, BlurFilter()], [None, "blur"])
    run = run_stages([stage], [batch_of(NOISE, FLAT, SOFT)])
    assert keys_of(run.outputs) == ["a"]
    assert run.report.of(0).reasons == {"rejected by is_wide": 1}
    mean = Score(lambda picture: picture.pixels.mean(), "mean")
    [output] = run_stages([mean], [batch_of(FLAT)]).outputs
    assert output.data["mean"].to_pylist() == [120]


def test_a_failing_rule_quarantines_one_picture() -> None:
    def picky(picture: Picture) -> float:
        return 1 / (picture.header.width - 300)

    run = run_stages([ScoreFilter(picky)], [batch_of(NOISE, FLAT)], on_error="quarantine")
    assert keys_of(run.outputs) == ["a"]
    [record] = run.report.quarantined
    assert "ZeroDivisionError" in record.reason
    assert "(test_scoring.py:" in record.reason


def test_wrong_rules_fail_where_they_are_created() -> None:
    with pytest.raises(PipelineError, match="BlurFilter"):
        ScoreFilter(BlurFilter)
    with pytest.raises(PipelineError, match="filter_obj"):
        ScoreFilter([])
    with pytest.raises(PipelineError, match="score_field has 1 entries for 2 rules"):
        ScoreFilter([BlurFilter(), SizeFilter()], "a")
