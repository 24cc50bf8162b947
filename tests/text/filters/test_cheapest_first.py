from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline
from curator_core.errors import PipelineError
from curator_text import (
    CheapestFirst,
    ColumnFilter,
    MeanWordLengthFilter,
    NumbersFilter,
    RepeatingTopNGramsFilter,
    ScoreFilter,
    TextFilter,
    UrlsFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
)
from hypothesis import given
from hypothesis import strategies as st

RULES: list[TextFilter] = [
    RepeatingTopNGramsFilter(2, 0.5),
    WordsWithoutAlphabetsFilter(0.5, score_field="letters"),
    WordCountFilter(2, 6),
    NumbersFilter(0.4, score_field="numbers"),
    MeanWordLengthFilter(1, 4, invert=True),
    UrlsFilter(),
]
TEXTS = st.lists(st.none() | st.text("ab1 \n.h", max_size=20), max_size=6)


@given(order=st.permutations(RULES), texts=TEXTS)
def test_order_changes_neither_rows_nor_scores(
    order: list[TextFilter], texts: list[str | None]
) -> None:
    rows = [{"id": i, "text": text} for i, text in enumerate(texts)] or [{"id": 0, "text": "a"}]
    results = []
    for stage in (ScoreFilter(order), CheapestFirst(order), CheapestFirst(RULES)):
        kept = stage.process(DocumentBatch.from_pylist(rows))[0]
        assert isinstance(kept, DocumentBatch)
        results.append([dict(sorted(row.items())) for row in kept.to_pylist()])
    assert results[0] == results[1] == results[2]


def test_cheapest_filter_runs_first() -> None:
    names = [stage.name for stage in CheapestFirst(RULES).parts()]
    assert names[0] == "urls_filter"
    assert names[-1] == "repeating_top_2_grams_filter"


def test_each_document_is_counted_once() -> None:
    batch = DocumentBatch.from_pylist([{"text": "1"}, {"text": "http://a.b"}, {"text": "aa bb"}])
    result = Pipeline("p", stages=[CheapestFirst(RULES[2:4])]).run(LocalExecutor(0), tasks=[batch])
    drops = {name: counts.items_dropped for name, counts in result.stages.items()}
    assert drops == {"numbers_filter": 1, "word_count_filter": 1}


def test_function_is_included_by_its_name() -> None:
    def has_no_x(text: str) -> bool:
        return "x" not in text

    stage = CheapestFirst([has_no_x, WordCountFilter(2), UrlsFilter()])
    assert {"has_no_x", "word_count_filter", "urls_filter"} == {s.name for s in stage.parts()}
    kept, *dropped = stage.process(DocumentBatch.from_pylist([{"text": t} for t in ("a b", "a x")]))
    assert isinstance(kept, DocumentBatch)
    assert kept.data["text"].to_pylist() == ["a b"]
    assert [getattr(drop, "reason", None) for drop in dropped] == ["rejected by has_no_x"]


def test_other_objects_are_refused() -> None:
    with pytest.raises(PipelineError, match="a rule must be a filter or a function, but is 3"):
        CheapestFirst([3])  # type: ignore[list-item]


def test_stages_that_depend_on_order_are_refused() -> None:
    by_column: list[Any] = [ColumnFilter(list)]
    with pytest.raises(PipelineError, match="cannot move list: the result may depend on the pla"):
        CheapestFirst(by_column)
    rules = [WordCountFilter(score_field="n"), NumbersFilter(text_field="n")]
    with pytest.raises(PipelineError, match="word_count_filter adds 'n', which another filter re"):
        CheapestFirst(rules)
