"""Scoring and filtering as separate stages, and functions as rules."""

from typing import Any

import pytest
from curator_core import PipelineError
from curator_core.testing import check_stage, run_stages
from curator_video import Filter, Score, ScoreFilter
from curator_video.filters.motion import MotionFilter
from curator_video.filters.size import DurationFilter, ResolutionFilter
from curator_video.tasks import Clip


def is_wide(clip: Clip) -> bool:
    return clip.data.facts.width > clip.data.facts.height


def is_long(clip: Clip) -> bool:
    return clip.duration > 60


def test_scoring_and_filtering_in_two_steps_equal_one(clip: Clip) -> None:
    at_once = run_stages([DurationFilter(1)], [clip])
    apart = run_stages(
        [Score(DurationFilter(9), "duration"), Filter(DurationFilter(1), "duration")], [clip]
    )
    assert apart.outputs[0].scores == at_once.outputs[0].scores == {"duration": 2.0}
    dropped = run_stages([Score(is_wide, "wide"), Filter(DurationFilter(9), "duration")], [clip])
    assert dropped.report.of(1).reasons == {"too short or too long": 1}, "it has no such score"


def test_rules_run_in_order_and_count_apart(clip: Clip) -> None:
    run = run_stages([ScoreFilter([is_wide, DurationFilter(3), is_long])], [clip])
    assert [stage.name for stage in ScoreFilter([is_wide, is_wide]).decompose()] == [
        "is_wide",
        "is_wide_2",
    ]
    assert not run.outputs
    assert run.report.of(0).reasons == {}
    assert run.report.of(1).reasons == {"too short": 1}


def test_results_of_functions_are_scores(clip: Clip) -> None:
    [kept] = run_stages(
        [ScoreFilter([is_wide, DurationFilter()], [None, "seconds"])], [clip]
    ).outputs
    assert kept.scores == {"is_wide": True, "seconds": 2.0}
    dropped = run_stages([ScoreFilter(is_long)], [clip])
    assert dropped.counts.reasons == {"rejected by is_long": 1}
    assert run_stages([ScoreFilter(is_long, invert=True)], [clip]).outputs


def test_scores_can_be_filtered_by_a_function(clip: Clip) -> None:
    def is_landscape(ratio: float) -> bool:
        return ratio > 1

    ratio = Score(lambda clip: clip.data.facts.width / clip.data.facts.height, "ratio")
    assert run_stages([ratio, Filter(is_landscape, "ratio")], [clip]).outputs
    inverted = run_stages([ratio, Filter(is_landscape, "ratio", invert=True)], [clip])
    assert inverted.report.of(1).reasons == {"not: rejected by is_landscape of ratio": 1}
    assert sum(inverted.report.of(1).scores["ratio"].dropped.values()) == 1


def test_a_rule_given_to_a_stage_is_not_changed(clip: Clip) -> None:
    rule = DurationFilter(3)
    ScoreFilter(rule, "seconds", invert=True)
    Score(rule, "seconds")
    assert (rule.score_field, rule.invert, rule.score_only) == ("duration", False, False)


def test_wrong_rules_fail_where_they_are_created() -> None:
    with pytest.raises(PipelineError, match="DurationFilter"):
        ScoreFilter(DurationFilter)
    with pytest.raises(PipelineError, match="filter_obj"):
        ScoreFilter([])
    with pytest.raises(PipelineError, match="motion_filter"):
        Score(MotionFilter(), "motion")


@pytest.mark.parametrize(
    "stage", [*ScoreFilter([is_wide, ResolutionFilter()]).decompose(), Filter(bool, "wide")]
)
def test_stage_contract(clip: Clip, stage: Any) -> None:
    check_stage(stage, clip.with_scores(wide=True))
