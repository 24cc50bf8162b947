import functools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from curator_core import DocumentBatch, Dropped, LocalExecutor, Pipeline, Rejected
from curator_core.errors import PipelineError
from curator_core.testing import run_stage, run_stages
from curator_text import (
    ColumnFilter,
    Filter,
    FunctionFilter,
    NumbersFilter,
    Score,
    ScoreFilter,
    SymbolsToWordsFilter,
    WordCountFilter,
)

ROWS = [{"text": "one two three"}, {"text": "7 7"}, {"text": "four"}, {"text": None}]


def batch(rows: list[Any] = ROWS) -> DocumentBatch:
    return DocumentBatch.from_pylist(rows)


def kept(outcomes: list[Any]) -> list[Any]:
    return [row for one in outcomes if isinstance(one, DocumentBatch) for row in one.to_pylist()]


def dropped(outcomes: list[Any]) -> dict[str, int]:
    return {one.reason: one.items for one in outcomes if isinstance(one, Dropped)}


def long_enough(text: str) -> bool:
    return len(text) > 4


def test_several_rules_keep_their_own_counts() -> None:
    stage = ScoreFilter([WordCountFilter(2), NumbersFilter()], score_field=["words", "numbers"])
    outcomes = stage.process(batch())
    assert kept(outcomes) == [{"text": "one two three", "words": 3.0, "numbers": 0.0}]
    assert dropped(outcomes) == {
        "fewer than 2 or more than 100,000 words": 2,
        "over 15 % digits": 1,
    }


def test_stages_are_named_after_their_rules_without_clashes() -> None:
    stages = [
        ScoreFilter(WordCountFilter(2)),
        ScoreFilter([NumbersFilter(), long_enough]),
        ScoreFilter([lambda text: True, lambda text: True]),
    ]
    result = Pipeline("p", stages=stages).run(LocalExecutor(0), tasks=[batch()])
    assert {name: counts.items_dropped for name, counts in result.stages.items()} == {
        "word_count_filter": 2,
        "numbers_filter": 1,
        "long_enough": 0,
        "function_filter": 0,
        "function_filter_2": 0,
    }


def test_given_name_is_used_alone_or_as_a_prefix() -> None:
    one = ScoreFilter(WordCountFilter()).with_(name="mine")
    two = ScoreFilter([WordCountFilter(), NumbersFilter()]).with_(name="mine")
    assert [stage.name for stage in one.parts()] == ["mine"]
    names = [stage.name for stage in two.parts()]
    assert names == ["mine_word_count_filter", "mine_numbers_filter"]


def test_invert_applies_to_single_rules() -> None:
    stage = ScoreFilter([WordCountFilter(2), NumbersFilter()], invert=[False, True])
    outcomes = stage.process(batch())
    assert kept(outcomes) == [{"text": "7 7"}]
    assert dropped(outcomes) == {
        "fewer than 2 or more than 100,000 words": 2,
        "not: over 15 % digits": 1,
    }
    twice = ScoreFilter(WordCountFilter(2, invert=True), invert=True)
    assert kept(twice.process(batch())) == ROWS[:2]


def test_rules_may_read_several_columns() -> None:
    rows = [{"title": "a b", "body": "c"}, {"title": "a", "body": "b c"}]
    rules = [WordCountFilter(2), WordCountFilter(1)]
    stage = ScoreFilter(rules, text_field=["title", "body"])
    assert kept(stage.process(batch(rows))) == rows[:1]
    assert rules[0].text_field == "text", "the filter itself is left alone"


def forgetful(text: str) -> bool:  # type: ignore[empty-body]
    """A rule with a missing `return`."""
    text.isascii()


def test_function_of_a_text_is_a_rule() -> None:
    outcomes = ScoreFilter(long_enough, score_field="long").process(batch())
    assert kept(outcomes) == [{"text": "one two three", "long": 1.0}]
    assert dropped(outcomes) == {"rejected by long_enough": 3}
    numbers = ScoreFilter(lambda text: float("nan") if " " in text else len(text))
    assert kept(numbers.process(batch())) == [{"text": "four"}]
    assert FunctionFilter(functools.partial(long_enough)).name == "long_enough"


def test_function_that_fails_quarantines_one_text() -> None:
    outcomes = ScoreFilter(lambda text: 1 / (len(text) - 4)).process(batch())
    [rejected] = [one for one in outcomes if isinstance(one, Rejected)]
    assert rejected.reason.startswith("ZeroDivisionError: division by zero (test_scoring.py:")
    assert rejected.items == 1
    assert rejected.where == "row 2 of its batch"


def shorter_than_the_longest(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    lengths = pc.utf8_length(texts)
    return pc.less(lengths, pc.max(lengths))


def test_column_function_gets_the_remaining_texts() -> None:
    stages = [ScoreFilter([NumbersFilter(), ColumnFilter(shorter_than_the_longest)])]
    run = run_stages([*stages, WordCountFilter(1)], [batch()])
    assert run.outputs[0].to_pylist() == [{"text": "four"}]  # type: ignore[attr-defined]
    assert [run.report.of(i).reasons for i in range(3)] == [
        {"over 15 % digits": 2},
        {"rejected by shorter_than_the_longest": 1},
        {},
    ]


def test_column_function_gives_scores() -> None:
    rule = ColumnFilter(pc.utf8_length, score_field="n", invert=True)
    assert kept(rule.process(batch([{"text": "a"}, {"text": " "}]))) == []
    scores = ColumnFilter(lambda texts: [1, None], score_field="n")
    outcomes = scores.process(batch([{"text": "a"}, {"text": "b"}]))
    assert kept(outcomes) == [{"text": "a", "n": 1.0}]


def test_column_function_that_fails_is_called_text_by_text() -> None:
    def fragile(texts: pa.ChunkedArray) -> list[bool]:
        if "7 7" in texts.to_pylist():
            raise RuntimeError("no sevens")
        return [True] * len(texts)

    outcomes = ScoreFilter(ColumnFilter(fragile)).process(batch(ROWS[:3]))
    assert kept(outcomes) == [ROWS[0], ROWS[2]]
    [rejected] = [one for one in outcomes if isinstance(one, Rejected)]
    assert rejected.reason.startswith("RuntimeError: no sevens (test_scoring.py:")


def test_column_function_must_return_a_value_per_text() -> None:
    with pytest.raises(PipelineError, match="the function gave 1 values for 3 texts; it must give"):
        ColumnFilter(lambda texts: [True]).process(batch())


def test_scores_are_added_and_nothing_is_dropped() -> None:
    stage = Score([WordCountFilter(2), str.upper], ["n", "loud"], score_type="string")
    assert [part.name for part in stage.parts()] == ["word_count_score", "upper_score"]
    assert kept(stage.process(batch()))[1:] == [
        {"text": "7 7", "n": "2", "loud": "7 7"},
        {"text": "four", "n": "1", "loud": "FOUR"},
        {"text": None, "n": None, "loud": None},
    ]


def test_scores_are_fused_with_filters() -> None:
    stages = [WordCountFilter(2), Score(len, "length"), NumbersFilter()]
    run = run_stages(stages, [batch()])
    assert kept(run.outputs) == [{"text": "one two three", "length": 13.0}]
    fused = stages[0].fuse_with([*Score(len, "length").parts(), NumbersFilter()], [])
    assert fused is not None
    assert len(fused.members) == 3


def test_filter_uses_an_existing_score_column() -> None:
    scored = kept(Score(WordCountFilter(), "n").process(batch()))
    by_rule = Filter(WordCountFilter(2), "n").process(batch(scored))
    assert [row["n"] for row in kept(by_rule)] == [3.0, 2.0]
    assert dropped(by_rule) == {"fewer than 2 or more than 100,000 words": 2}
    inverted = Filter(lambda n: n >= 2, "n", invert=True).process(batch(scored))
    assert [row["n"] for row in kept(inverted)] == [1.0], "what is missing passes neither way"
    both = Filter([WordCountFilter(2), lambda text: "7" in text], ["n", "text"])
    assert [row["text"] for row in kept(both.process(batch(scored)))] == ["7 7"]


@pytest.mark.parametrize("stage", [ScoreFilter(forgetful), Filter(forgetful, "text")])
def test_function_that_returns_none_is_named_with_its_line(stage: ScoreFilter) -> None:
    outcomes = stage.process(batch([{"text": "a"}]))
    [rejected] = [one for one in outcomes if isinstance(one, Rejected)]
    assert "forgetful (test_scoring.py:" in rejected.reason
    assert "returned None" in rejected.reason


def test_value_that_fails_is_quarantined_alone() -> None:
    outcomes = Filter(lambda n: 1 / n, "n").process(batch([{"n": 0}, {"n": 1}]))
    assert kept(outcomes) == [{"n": 1}]
    [rejected] = [one for one in outcomes if isinstance(one, Rejected)]
    assert rejected.reason.startswith("ZeroDivisionError: division by zero (test_scoring.py:")


def test_process_by_hand_agrees_with_a_run() -> None:
    stage = ScoreFilter([WordCountFilter(2), SymbolsToWordsFilter()])
    assert kept(run_stage(stage, batch())) == kept(stage.process(batch())) == ROWS[:2]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ScoreFilter([]), "filter_obj is an empty list; give it a rule"),
        (lambda: ScoreFilter(3), "a rule must be a filter or a function, but is 3"),
        (lambda: ScoreFilter(WordCountFilter), r"call it to make one, WordCountFilter\(...\)"),
        (lambda: ScoreFilter([len, len], invert=[True] * 3), "invert has 3 entries for 2 rules"),
        (lambda: ScoreFilter([len, len], score_field="n"), "score_field has 1 entries for 2 rules"),
        (lambda: Score([len, len], ["n", "n"]), "score_field names a column twice: n, n"),
        (
            lambda: Score(len, "n", score_type="text"),
            "score_type is 'text', but must be one of dou",
        ),
        (lambda: Filter([len], ["a", "b"]), "filter_field has 2 entries for 1 rules"),
    ],
)
def test_invalid_arguments_are_refused_by_the_constructor(make: Any, problem: str) -> None:
    with pytest.raises(PipelineError, match=problem):
        make()


@pytest.mark.parametrize(
    ("rule", "column", "fact"),
    [(len, None, "None"), (123, "n", "123"), (WordCountFilter, "n", "WordCountFilter(...)")],
)
def test_filter_without_rule_or_column_is_refused(rule: Any, column: Any, fact: str) -> None:
    with pytest.raises(PipelineError) as caught:
        Filter(rule, column)
    assert fact in str(caught.value)
