"""Documents without the field that is compared: told by count and name, refused where all are."""

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
def test_documents_without_the_field_are_told_of(
    tmp_path: Path, write: Write, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "raw/a.jsonl", [{"text": "x"}, {"text": None}, {"body": "x"}])
    write(tmp_path / "raw/b.jsonl", [{"body": "x", "id": 1}, {"body": "y", "id": 2}])
    told = kind(str(tmp_path / "raw"), str(tmp_path / "out")).run(HERE).metadata
    assert (told["documents"], told["empty"]) == (5, 4)
    assert (
        "3 of 5 documents have no field 'text' and count as empty: 2 in "
        f"{tmp_path}/raw/b.jsonl (its fields: body, id) and 1 more file"
    ) in caplog.text


def test_fields_of_a_document_that_has_it_are_no_answer(
    tmp_path: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x", "id": 1}, {"body": "x"}])
    ExactDeduplicationWorkflow(str(source), str(tmp_path / "out")).run(HERE)
    assert f"counts as empty: 1 in {source}\n" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_where_all_have_it_nothing_is_said(
    tmp_path: Path, write: Write, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x"}, {"text": None}, {"text": ""}])
    kind(str(source), str(tmp_path / "out")).run(HERE)
    assert "count as empty" not in caplog.text


def test_where_none_has_it_the_fields_that_are_there_are_named(
    tmp_path: Path, write: Write
) -> None:
    source = write(tmp_path / "a.jsonl", [{"body": "x", "id": 1}])
    with pytest.raises(PipelineError, match=r"text_field is 'text', .*no such field .*body, id"):
        ExactDeduplicationWorkflow(str(source), str(tmp_path / "out")).run(HERE)


def test_where_none_is_found_after_all_the_run_ends(tmp_path: Path, write: Write) -> None:
    """A sample of ten files, all of them empty, tells nothing."""
    for place in range(30):
        write(tmp_path / f"raw/a{place:02}.jsonl", [])
    write(tmp_path / "raw/a01.jsonl", [{"body": "x", "id": 1}])
    workflow = ExactDeduplicationWorkflow(str(tmp_path / "raw"), str(tmp_path / "out"))
    told = r"1 of 1 document has no .*fields: body, id\); name another"
    with pytest.raises(InputError, match=told):
        workflow.run(HERE)
    assert not list((tmp_path / "out").glob("part-*"))


def test_files_are_counted_apart_from_other_counts() -> None:
    told = MissingFields({"a: b.jsonl": 2, "c": 0}).to_counts()
    assert MissingFields.from_counts({**told, "documents": 4}) == MissingFields({"a: b.jsonl": 2})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_field_that_some_files_have_is_enough(
    tmp_path: Path, write: Write, kind: Any, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / f"raw/a.{ending}", [{"body": "x"}])
    write(tmp_path / f"raw/b.{ending}", [{"text": "y"}, {"text": None}])
    told = kind(str(tmp_path / "raw"), str(tmp_path / "out")).run(HERE).metadata
    assert (told["documents"], told["empty"]) == (3, 2)
    assert f"1 in {tmp_path}/raw/a.{ending} (its fields: body)" in caplog.text


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_documents_of_a_file_without_priorities_come_last(
    tmp_path: Path, write: Write, kind: Any, ending: str
) -> None:
    write(tmp_path / f"raw/a.{ending}", [{"text": "the same words"}])
    write(tmp_path / f"raw/b.{ending}", [{"text": "the same words", "score": 0.5}])
    workflow = kind(str(tmp_path / "raw"), str(tmp_path / "out"), priority_field="score")
    assert workflow.run(HERE).metadata["removed"] == 1
    [kept] = (tmp_path / "out").glob("part-*")
    assert b"score" in kept.read_bytes()


def test_of_many_files_the_first_and_the_last_are_looked_at(tmp_path: Path, write: Write) -> None:
    for place in range(30):
        write(tmp_path / f"raw/a{place:02}.jsonl", [{"text": "x"}])
    write(tmp_path / "raw/b.jsonl", [{"text": "x", "score": 1}])
    raw, out = str(tmp_path / "raw"), str(tmp_path / "out")
    assert not list(ExactDeduplicationWorkflow(raw, out, priority_field="score").check())
    [told] = ExactDeduplicationWorkflow(raw, out, priority_field="scores").check()
    assert told.startswith("priority_field is 'scores', but a00.jsonl and 9 more files have no")
    assert "did you mean score?" in told
