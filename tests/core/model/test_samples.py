"""Samples: only the first few records that stages changed or dropped, and shortened."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from curator_core import (
    DocumentBatch,
    Dropped,
    FileGroup,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
)
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.samples import (
    MAX_CHANGES,
    MAX_DROPS,
    MAX_KEPT,
    MAX_REASONS,
    Sample,
    Sampler,
)
from curator_report.history import read_history

Docs = ProcessingStage[DocumentBatch, DocumentBatch]


def batch(*texts: str | None, **more: Any) -> DocumentBatch:
    return DocumentBatch(pa.table({"text": pa.array(texts, pa.string()), **more}))


def changes(before: DocumentBatch, after: DocumentBatch) -> list[Sample]:
    return list(Sampler().changes(0, before.data, after))


def test_differences_are_shown_with_their_context() -> None:
    long = "a" * 1_000_000
    [sample] = changes(batch("same", f"{long}-x-{long}"), batch("same", f"{long}-y-{long}"))
    assert sample.start == 1_000_001 - 200
    assert sample.before.strip("a") == "-x-"
    assert sample.after
    assert sample.after.strip("a") == "-y-"
    assert len(sample.before) < 1000
    assert sample.length == 2_000_003


def test_types_may_change_on_the_way() -> None:
    after = DocumentBatch(pa.table({"text": pa.array(["b"], pa.large_string()), "n": [1]}))
    [sample] = changes(batch("a"), after)
    assert (sample.column, sample.before, sample.after) == ("text", "a", "b")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (batch("a", "b"), batch("a")),
        (batch("a"), DocumentBatch(pa.table({"other": ["b"]}))),
        (batch(None), batch("a")),
        (batch("a"), batch("a")),
    ],
    ids=["fewer", "another column", "missing before", "the same"],
)
def test_values_that_cannot_be_compared_are_not_shown(
    before: DocumentBatch, after: DocumentBatch
) -> None:
    assert changes(before, after) == []


def test_the_number_of_samples_is_limited() -> None:
    sampler = Sampler()
    before, after = batch("a", "b").data, batch("x", "y")
    found = [one for _ in range(10) for one in sampler.changes(0, before, after)]
    assert len(found) == MAX_CHANGES
    assert not sampler.wants_changes(0)
    assert sampler.wants_changes(1)
    for _ in range(100):
        list(sampler.changes(1, before, DocumentBatch(before.slice(0))))
    assert not sampler.wants_changes(1)


def test_of_each_reason_a_few_are_shown_and_only_these_are_asked_for() -> None:
    sampler, asked = Sampler(), []

    def records() -> DocumentBatch:
        asked.append(1)
        return batch("one", "two", "three", url=["u1", "u2", "u3"])

    found = [one for _ in range(9) for one in sampler.drops(0, "short", records, ["text"])]
    assert [(one.before, one.label, one.after) for one in found] == [
        ("one", "url u1", None), ("two", "url u2", None)]  # fmt: skip
    assert len(asked) == 1
    for number in range(100):
        list(sampler.drops(0, f"reason {number}", records, []))
    assert len(asked) == MAX_REASONS


def test_invalid_utf8_is_shown_as_far_as_possible() -> None:
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")]
    )
    table = DocumentBatch(pa.table({"text": damaged}))
    [sample] = Sampler().drops(0, "damaged", table, ["text"])
    assert sample.before == "a\ufffdb"


def test_records_that_cannot_be_made_end_nothing() -> None:
    def records() -> DocumentBatch:
        raise ValueError("records are only made if they are sampled")

    sampler = Sampler()
    assert list(sampler.drops(0, "odd", records, ["text"])) == []
    assert list(sampler.drops(0, "odd", batch("a"), ["text"])) == []


def test_columns_of_one_name_are_left_alone() -> None:
    twice = [DocumentBatch(pa.table([["a"], [text]], names=["t", "t"])) for text in "bc"]
    assert changes(*twice) == []


def test_only_tables_are_looked_at() -> None:
    files = FileGroup.of(["a.jsonl"])
    assert list(Sampler().changes(0, files.data, batch("a"))) == []
    assert list(Sampler().changes(0, batch("a").data, files)) == []
    assert list(Sampler().drops(0, "unreadable", files, [])) == []


class Shouts(Docs):
    """Changes its input task in place."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        texts = [text.upper() for text in task.data["text"].to_pylist()]
        task.data = task.data.set_column(0, "text", pa.array(texts))
        return task


class Shortens(Docs):
    """Returns one task for each, with rows in another order."""

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        yield from task.keep([len(t) < 9 for t in task.data["text"].to_pylist()], "long")


def run(folder: Path, workers: int = 0, **options: Any) -> list[dict[str, Any]]:
    (folder / "in").mkdir()
    for number in range(30):
        lines = (json.dumps({"text": f"word {number}{'!' * n}"}) + "\n" for n in range(5))
        (folder / "in" / f"{number:02}.jsonl").write_text("".join(lines))
    stages = [JsonlReader(str(folder / "in")), Shouts(), Shortens(),
              JsonlWriter(str(folder / "out"))]  # fmt: skip
    result = Pipeline("sampled", stages=stages, **options).run(LocalExecutor(workers=workers))
    assert result.run_dir
    return read_history(result.run_dir).samples


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_emits_a_few_samples_however_many_there_are(workers: int, tmp_path: Path) -> None:
    samples = run(tmp_path, workers)
    changed = [one for one in samples if one["stage"] == "shouts"]
    dropped = [one for one in samples if one["stage"] == "shortens"]
    kept = [one for one in samples if one.get("is_kept")]
    assert len(samples) == len(changed) + len(dropped) + len(kept)
    assert (len(changed), len(dropped), len(kept)) == (MAX_CHANGES, MAX_DROPS, MAX_KEPT)
    assert {one["stage"] for one in kept} == {"jsonl_writer"}
    assert all(one["after"] == one["before"].upper() for one in changed)
    assert {one["reason"] for one in dropped} == {"long"}
    assert all("after" not in one for one in dropped)


def test_they_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    assert run(tmp_path / "a", samples=False) == []
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("CURATOR_SAMPLES", "0")
    assert run(tmp_path / "b") == []


class Blanks(Docs):
    """Empties texts that begin with `e`, and fills empty ones."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        given = task.data["text"].to_pylist()
        texts = ["" if text.startswith("e") else text or "new" for text in given]
        return task.with_data(task.data.set_column(0, "text", pa.array(texts)))


class DropsBlank(Docs):
    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        yield from task.keep([bool(text) for text in task.data["text"].to_pylist()], "blank")


def test_empty_texts_are_shown_as_empty(tmp_path: Path) -> None:
    rows = [{"text": "end"}, {"text": ""}, {"text": "a word"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stages = [JsonlReader(str(tmp_path / "in.jsonl")), Blanks(), DropsBlank(),
              JsonlWriter(str(tmp_path / "out"))]  # fmt: skip
    result = Pipeline("blank", stages=stages).run(LocalExecutor(workers=0))
    assert result.run_dir
    samples = read_history(result.run_dir).samples
    changed = [(one["before"], one["after"]) for one in samples if one["stage"] == "blanks"]
    assert changed == [("end", ""), ("", "new")]
    assert [one["before"] for one in samples if one["stage"] == "drops_blank"] == [""]
    assert (Path(result.run_dir) / "report.html").is_file()
