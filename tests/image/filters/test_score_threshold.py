"""Scores decide which pictures are kept, with a reason for the others."""

import pytest
from curator_core import Dropped, InputError
from curator_core.testing import run_stage, run_stages
from curator_image.filters.values import ScoreThreshold
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


def test_missing_and_contradictory_limits() -> None:
    assert list(ScoreThreshold("score").check()) == [
        "min_score and max_score are both missing; set at least one"
    ]
    [problem] = ScoreThreshold("score", 3.0, 2.0).check()
    assert problem == "min_score 3 is above max_score 2: every picture would be dropped"


def test_a_text_column_is_not_a_score() -> None:
    stage = ScoreThreshold("key", min_score=2.0)
    with pytest.raises(InputError, match="column 'key' holds string, but must hold numbers"):
        stage.process(scored(1.0))
    [kept] = run_stage(ScoreThreshold("score", min_score=1.0), scored(1.0))
    assert kept.num_items == 1
