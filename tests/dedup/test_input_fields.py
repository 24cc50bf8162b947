"""Documents without the compared field: a warning names them; the run fails if all lack it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import InputError, LocalExecutor, PipelineError
from curator_dedup import (
    ExactDeduplicationWorkflow,
    FuzzyDeduplicationWorkflow,
    LineDeduplicationWorkflow,
)
from curator_dedup.input_fields import MissingFields

HERE = LocalExecutor(workers=0)
Write = Callable[[Path, list[dict[str, Any]]], Path]

KINDS: list[Any] = [
    ExactDeduplicationWorkflow,
    FuzzyDeduplicationWorkflow,
    LineDeduplicationWorkflow,
]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_without_the_field_are_counted_in_a_warning(
    tmp_path: Path, write: Write, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "raw/a.jsonl", [{"text": "x"}, {"text": None}, {"body": "x"}])
    write(tmp_path / "raw/b.jsonl", [{"body": "x", "id": 1}, {"body": "y", "id": 2}])
    counts = kind(str(tmp_path / "raw"), str(tmp_path / "out")).run(HERE).metadata
    assert (counts["documents"], counts["empty"]) == (5, 4)
    facts = (
        "3 of 5 documents",
        "'text'",
        f"2 in {tmp_path}/raw/b.jsonl",
        "body, id",
        "1 more file",
    )
    assert all(fact in caplog.text for fact in facts)


def test_warning_lists_no_fields_if_some_documents_have_the_field(
    tmp_path: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x", "id": 1}, {"body": "x"}])
    ExactDeduplicationWorkflow(str(source), str(tmp_path / "out")).run(HERE)
    assert f"counts as empty: 1 in {source}\n" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_no_warning_if_all_documents_have_the_field(
    tmp_path: Path, write: Write, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x"}, {"text": None}, {"text": ""}])
    kind(str(source), str(tmp_path / "out")).run(HERE)
    assert "count as empty" not in caplog.text


def test_missing_field_is_refused_and_existing_ones_are_named(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"body": "x", "id": 1}])
    with pytest.raises(PipelineError, match=r"text_field is 'text', .*no such field .*body, id"):
        ExactDeduplicationWorkflow(str(source), str(tmp_path / "out")).run(HERE)


def test_run_fails_if_no_document_has_the_field(tmp_path: Path, write: Write) -> None:
    """The plan samples ten files, which are all empty here."""
    for place in range(30):
        write(tmp_path / f"raw/a{place:02}.jsonl", [])
    write(tmp_path / "raw/a01.jsonl", [{"body": "x", "id": 1}])
    workflow = ExactDeduplicationWorkflow(str(tmp_path / "raw"), str(tmp_path / "out"))
    message = r"1 of 1 document has no .*fields: body, id\); name another"
    with pytest.raises(InputError, match=message):
        workflow.run(HERE)
    assert not list((tmp_path / "out").glob("part-*"))


def test_counts_of_files_survive_a_round_trip() -> None:
    counts = MissingFields({"a: b.jsonl": 2, "c": 0}).to_counts()
    assert MissingFields.from_counts({**counts, "documents": 4}) == MissingFields({"a: b.jsonl": 2})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_field_in_some_of_the_files_is_enough(
    tmp_path: Path, write: Write, kind: Any, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / f"raw/a.{ending}", [{"body": "x"}])
    write(tmp_path / f"raw/b.{ending}", [{"text": "y"}, {"text": None}])
    counts = kind(str(tmp_path / "raw"), str(tmp_path / "out")).run(HERE).metadata
    assert (counts["documents"], counts["empty"]) == (3, 2)
    assert f"1 in {tmp_path}/raw/a.{ending} (its fields: body)" in caplog.text


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_documents_without_priorities_rank_last(
    tmp_path: Path, write: Write, kind: Any, ending: str
) -> None:
    write(tmp_path / f"raw/a.{ending}", [{"text": "the same words"}])
    write(tmp_path / f"raw/b.{ending}", [{"text": "the same words", "score": 0.5}])
    workflow = kind(str(tmp_path / "raw"), str(tmp_path / "out"), priority_field="score")
    assert workflow.run(HERE).metadata["removed"] == 1
    [kept] = (tmp_path / "out").glob("part-*")
    assert b"score" in kept.read_bytes()


def test_first_and_last_of_many_files_are_sampled(tmp_path: Path, write: Write) -> None:
    for place in range(30):
        write(tmp_path / f"raw/a{place:02}.jsonl", [{"text": "x"}])
    write(tmp_path / "raw/b.jsonl", [{"text": "x", "score": 1}])
    raw, out = str(tmp_path / "raw"), str(tmp_path / "out")
    assert not list(ExactDeduplicationWorkflow(raw, out, priority_field="score").check())
    [problem] = ExactDeduplicationWorkflow(raw, out, priority_field="scores").check()
    assert problem.startswith("priority_field is 'scores', but a00.jsonl and 9 more files")
    assert "did you mean score?" in problem
