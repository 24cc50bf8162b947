"""Values in columns decide which pictures are kept, with a reason for the others."""

import pytest
from curator_core import Dropped, InputError
from curator_core.testing import run_stage, run_stages
from curator_image.filters.values import ScoreThreshold, ValueFilter
from drawings import batch, drawn, encoded


def scored(*scores: float | None) -> object:
    return batch(*[encoded(drawn(1, (8, 8)))] * len(scores), score=list(scores))


def test_each_reason_is_counted_separately() -> None:
    stage = ScoreThreshold("score", min_score=2.0, max_score=3.0, what="beauty")
    kept, *dropped = stage.process(scored(1.0, 2.0, None, 3.0, 3.5, 0.5, float("nan")))
    assert kept.keys == ["b", "d"]
    found = {note.reason: note for note in dropped if isinstance(note, Dropped)}
    assert {reason: note.items for reason, note in found.items()} == {
        "beauty under 2": 2,
        "no beauty": 2,
        "beauty over 3": 1,
    }
    assert found["beauty under 2"].records().keys == ["a", "f"]


def test_scores_are_counted_for_the_report() -> None:
    run = run_stages([ScoreThreshold("score", min_score=2.0)], [scored(1.0, 2.0, None, 3.0)])
    [scores] = run.report.of(0).scores.values()
    assert (sum(scores.kept.values()), sum(scores.dropped.values())) == (2, 1)


def test_nothing_is_copied_if_all_pictures_are_kept() -> None:
    task = scored(2.0, 2.5)
    assert ScoreThreshold("score", min_score=2.0).process(task) == [task]


def test_missing_and_contradictory_limits_are_reported() -> None:
    [problem] = ScoreThreshold("score").check()
    assert "min_score and max_score are both missing" in problem
    [problem] = ScoreThreshold("score", 3.0, 2.0).check()
    assert "min_score 3 is above max_score 2" in problem
    [problem] = ValueFilter("score").check()
    assert "no limit is set" in problem


def test_a_value_filter_drops_missing_values_too() -> None:
    run = run_stages([ValueFilter("score", least=1, most=2)], [scored(0.5, 1.0, None, 2.5)])
    assert run.outputs[0].keys == ["b"]
    assert run.counts.reasons == {"score under 1 or over 2": 3}
    inverted = run_stages([ValueFilter("score", least=1, invert=True)], [scored(0.5, 1.0)])
    assert inverted.outputs[0].keys == ["a"]
    assert inverted.counts.reasons == {"not: score under 1": 1}


def test_a_text_column_is_not_a_score() -> None:
    stage = ScoreThreshold("key", min_score=2.0)
    with pytest.raises(InputError, match="column 'key' holds string, but must hold numbers"):
        stage.process(scored(1.0))
    [kept] = run_stage(ScoreThreshold("score", min_score=1.0), scored(1.0))
    assert kept.num_items == 1
