import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, LocalExecutor, Pipeline, Rejected
from curator_core.errors import StageError
from curator_core.testing import run_stage, run_stages
from curator_text import DocumentText, TextFilter, WordCountFilter

ROWS = [{"id": "a", "text": "x"}, {"id": "b", "text": "bad"}, {"id": "c", "text": "one two"}]


@dataclass
class Fragile(TextFilter):
    poison: str = "bad"
    reason = "too short"

    def score(self, text: DocumentText) -> float:
        if self.poison in text:
            raise ValueError(f"cannot read {str(text)!r}")
        return len(text)

    def keeps(self, score: float) -> bool:
        return score > 1


def test_error_in_a_rule_quarantines_that_document_alone() -> None:
    kept, *notes = Fragile().process(DocumentBatch.from_pylist(ROWS))
    assert isinstance(kept, DocumentBatch)
    assert [row["id"] for row in kept.to_pylist()] == ["c"]
    dropped, rejected = notes
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.items) == ("too short", 1)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("ValueError: cannot read 'bad' (test_rule_evaluator.py:")
    assert rejected.where == "id 'b', row 1 of its batch"
    assert json.loads(rejected.payload or b"") == ROWS[1]
    assert (rejected.row, rejected.damaged) == (1, False)


def test_record_that_failed_is_kept_for_a_retry() -> None:
    stages = [WordCountFilter(1), Fragile(), Fragile("two").with_(name="other")]
    run = run_stages(stages, [DocumentBatch.from_pylist(ROWS)], on_error="quarantine")
    kept = [DocumentBatch.from_payload(r.subtask or b"") for r in run.report.quarantined]
    assert [one.to_pylist() for one in kept] == [[ROWS[1]], [ROWS[2]]]


def test_failure_is_counted_by_its_own_stage() -> None:
    stages = [WordCountFilter(1), Fragile(), Fragile("two").with_(name="other")]
    run = Pipeline("p", stages=stages, max_failures=None).run(
        LocalExecutor(0), tasks=[DocumentBatch.from_pylist(ROWS)]
    )
    counts = {name: (c.items_dropped, c.items_rejected) for name, c in run.stages.items()}
    assert counts == {"word_count_filter": (0, 0), "fragile": (1, 1), "other": (0, 1)}
    assert [(q.stage, q.where) for q in run.quarantined] == [
        ("fragile", "id 'b', row 1 of its batch"),
        ("other", "id 'c', row 0 of its batch"),
    ]


def test_failing_run_names_the_stage_and_the_document() -> None:
    with pytest.raises(StageError, match="stage 'fragile' failed: id 'b', row 1 of its batch: Val"):
        run_stages([WordCountFilter(1), Fragile()], [DocumentBatch.from_pylist(ROWS)])


def test_failure_names_the_row_as_without_fusion() -> None:
    stages = [WordCountFilter(2), Fragile("two")]
    batch = DocumentBatch.from_pylist(ROWS)
    alone = run_stages(stages, [batch], on_error="quarantine")
    together = Pipeline("p", stages=stages, max_failures=None).run(LocalExecutor(0), tasks=[batch])
    where = [one.where for one in alone.report.quarantined]
    assert where == [one.where for one in together.quarantined] == ["id 'c', row 0 of its batch"]


def test_invalid_utf8_quarantines_only_its_row() -> None:
    raw = pa.array([b"one two", b"\xff\xfe", None], pa.binary())
    column = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    kept, *notes = WordCountFilter(1).process(DocumentBatch(pa.table({"text": column})))
    assert isinstance(kept, DocumentBatch)
    assert kept.to_pylist() == [{"text": "one two"}]
    by_kind = {type(note): note for note in notes}
    rejected = by_kind[Rejected]
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "its text is no UTF-8: invalid start byte at byte 0"
    assert (rejected.row, rejected.damaged) == (1, True)


def test_column_without_text_is_named() -> None:
    batch = DocumentBatch.from_pylist([{"text": 1}])
    with pytest.raises(StageError, match="column 'text' holds int64, but must hold text; name the"):
        run_stage(WordCountFilter(), batch)


def test_missing_column_suggests_a_similar_name() -> None:
    batch = DocumentBatch.from_pylist([{"body": "a", "texts": "b"}])
    with pytest.raises(StageError, match=r"no column 'text' \(did you mean texts\?\)"):
        run_stage(WordCountFilter(), batch)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.null()])
def test_text_may_have_any_arrow_type(kind: pa.DataType) -> None:
    values: list[Any] = [None] if kind == pa.null() else ["a b", None]
    table = pa.table({"text": pa.array(values, kind)})
    outcomes = WordCountFilter(1).process(DocumentBatch(table))
    dropped = [one for one in outcomes if isinstance(one, Dropped)]
    assert [(one.reason, one.items) for one in dropped] == [
        ("fewer than 1 or more than 100,000 words", 1)
    ]


def test_dictionary_of_texts_is_text() -> None:
    table = pa.table({"text": pa.array(["a", "a", "b c"]).dictionary_encode()})
    [kept, _] = WordCountFilter(2).process(DocumentBatch(table))
    assert isinstance(kept, DocumentBatch)
    assert kept.to_pylist() == [{"text": "b c"}]


def test_batch_without_rows_stays_empty() -> None:
    table = pa.table({"text": pa.array([], pa.string())})
    [kept] = WordCountFilter(score_field="n").process(DocumentBatch(table))
    assert isinstance(kept, DocumentBatch)
    assert kept.columns() == ("text", "n")


def test_changed_copy_of_a_rule_is_a_separate_stage() -> None:
    first = WordCountFilter(1)
    second = first.with_(name="second")
    second.min_words = 2
    run = run_stages([first, second], [DocumentBatch.from_pylist(ROWS)])
    assert run.outputs[0].to_pylist() == ROWS[2:]  # type: ignore[attr-defined]
    assert run.report.of(1).items_dropped == 2


def test_fused_rules_store_the_scores_of_single_ones() -> None:
    stages = [
        WordCountFilter(1, score_field="words"),
        Fragile(poison="none", score_field="length"),
    ]
    run = run_stages(stages, [DocumentBatch.from_pylist(ROWS)])
    [kept] = run.outputs
    assert kept.to_pylist() == [  # type: ignore[attr-defined]
        {**ROWS[1], "words": 1.0, "length": 3.0},
        {**ROWS[2], "words": 2.0, "length": 7.0},
    ]
