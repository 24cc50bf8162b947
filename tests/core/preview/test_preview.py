"""Previews: a sample passes through the stages, and nothing is written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from curator_core import DocumentBatch, Empty, Pipeline, ProcessingStage, Task, processing_stage
from curator_core.errors import StageError
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import Mixed
from curator_core.preview import Preview, preview


@dataclass
class Numbers(ProcessingStage[Empty, DocumentBatch]):
    """Yields endless batches, and counts them."""

    given: ClassVar[list[int]] = []

    def process(self, task: Empty) -> Iterator[DocumentBatch]:
        for number in range(10_000):
            self.given.append(number)
            yield DocumentBatch.from_pylist([{"n": number, "text": f"number {number}"}] * 3)


@processing_stage(name="even_only")
def even_only(task: DocumentBatch) -> object:
    return task.keep([n % 2 == 0 for n in task.data.column("n").to_pylist()], "odd")


@processing_stage(name="longer")
def longer(task: DocumentBatch) -> DocumentBatch:
    rows = [{**row, "text": f"{row['text']}!", "size": 9} for row in task.to_pylist()]
    return DocumentBatch.from_pylist(rows)


@processing_stage(name="silent")
def silent(task: DocumentBatch) -> None:
    return None


@processing_stage(name="stumbling")
def stumbling(task: DocumentBatch) -> DocumentBatch:
    if task.data.column("n")[0].as_py() == 1:
        raise ValueError("not one")
    return task


def seen(*stages: AnyStage, records: int = 8) -> Preview:
    Numbers.given.clear()
    return preview(Pipeline("trial", stages=[Numbers(), *stages]).build(), records)


def test_no_more_is_read_than_needed() -> None:
    found = seen(records=8)
    assert found.records == 8
    assert len(found.rest) == 8
    assert Numbers.given == [0, 1, 2]
    assert found.stages[0].drew


def test_drops_have_a_reason_and_an_example() -> None:
    stage = seen(even_only).stages[1]
    assert (stage.counts.items_in, stage.counts.items_out) == (8, 5)
    [drop] = stage.drops
    assert (drop.reason, drop.items, drop.record) == ("odd", 3, {"n": 1, "text": "number 1"})


def test_a_task_dropped_without_a_reason_is_shown_too() -> None:
    found = seen(silent, longer)
    [drop] = found.stages[1].drops
    assert (drop.reason, drop.items) == ("dropped", 8)
    assert found.stages[2].counts.tasks_in == 0
    assert found.rest == []


def test_changes_and_new_columns_are_shown_once_each() -> None:
    stage = seen(longer).stages[1]
    assert stage.changed == 8
    assert [(c.column, c.before, c.after, c.is_new) for c in stage.changes] == [
        ("text", "number 0", "number 0!", False),
        ("size", None, 9, True),
    ]


def test_a_failure_is_shown_and_the_others_continue() -> None:
    found = seen(stumbling.with_(on_error="fail"))
    failed = found.stages[1].quarantined
    [reason] = {record.reason for record in failed}
    assert reason.startswith("ValueError: not one (test_preview.py:")
    assert len(failed) + len(found.rest) == 8
    assert str(found).count("ValueError: not one") == 1


@dataclass
class Lifecycle(ProcessingStage[DocumentBatch, DocumentBatch]):
    fails: bool = False
    calls: list[str] = field(default_factory=list)

    def setup(self, worker: object) -> None:
        if self.fails:
            raise LookupError("no model here")
        self.calls.append("setup")

    def teardown(self) -> None:
        self.calls.append("teardown")

    def process(self, task: DocumentBatch) -> DocumentBatch:
        self.calls.append("process")
        return task


def test_stages_are_set_up_and_torn_down() -> None:
    stage = Lifecycle()
    seen(stage, records=3)
    assert stage.calls == ["setup", "process", "process", "process", "teardown"]


def test_a_stage_whose_setup_fails_is_named() -> None:
    with pytest.raises(StageError, match="stage 'lifecycle' could not be set up: LookupError: no"):
        seen(Lifecycle(fails=True))


def write_lines(folder: Path, files: int, lines: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(files):
        rows = [json.dumps({"n": number, "text": f"line {line}"}) for line in range(lines)]
        (folder / f"{number:03}.jsonl").write_text("\n".join(rows) + "\n")


def test_a_sample_comes_from_files_all_over_the_input(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=60, lines=10)
    plan = Pipeline("trial", stages=[JsonlReader(str(tmp_path / "in"))]).build()
    found = preview(plan, 12)
    numbers = [row["n"] for row in found.rest]
    assert len(set(numbers)) == 12
    assert max(numbers) >= 12
    assert preview(plan, 12).rest == found.rest


def test_a_sample_of_one_file_comes_from_all_over_its_first_batch(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=1, lines=100)
    found = preview(Pipeline("trial", stages=[JsonlReader(str(tmp_path / "in"))]).build(), 4)
    assert [row["text"] for row in found.rest] == ["line 0", "line 25", "line 50", "line 75"]


def test_large_files_compensate_for_small_ones(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=3, lines=1)
    write_lines(tmp_path / "large", files=1, lines=50)
    paths = [str(tmp_path / "in"), str(tmp_path / "large")]
    found = preview(Pipeline("trial", stages=[JsonlReader(paths)]).build(), 20)
    assert found.records == 20


@dataclass
class Film(Task[str]):
    """A payload that is not a table."""


@processing_stage(name="films")
def films(task: DocumentBatch) -> list[Film]:
    return [Film("one"), Film("two")]


def test_tasks_without_a_table_are_counted_among_the_kept() -> None:
    assert seen(films, records=3).kept == 6


def test_every_record_is_followed_to_its_end() -> None:
    found = seen(longer, even_only)
    ends = [(one.before["text"], [row["text"] for row in one.after]) for one in found.examples]
    assert ends[:4] == [
        ("number 0", ["number 0!"]),
        ("number 0", ["number 0!"]),
        ("number 0", ["number 0!"]),
        ("number 1", []),
    ]


def test_a_record_may_become_several() -> None:
    found = seen(films, records=2)
    assert [len(one.after) for one in found.examples] == [2, 2]


@dataclass
class AtLeast(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps large numbers, and can store them as scores, like filters of every modality."""

    min_n: int = 2
    score_field: str | None = None

    def outputs(self) -> tuple[str, ...]:
        return (self.score_field,) if self.score_field else ()

    def keeps(self, score: int) -> bool:
        return score >= self.min_n

    def process(self, task: DocumentBatch) -> object:
        scores = task.data.column("n")
        if self.score_field:
            task = task.with_data(task.data.append_column(self.score_field, scores))
        return task.keep([self.keeps(n) for n in scores.to_pylist()], "too small")


class Merged(ProcessingStage[DocumentBatch, DocumentBatch]):
    batch_size = 100

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> Mixed[DocumentBatch]:
        return Mixed([DocumentBatch.from_pylist([{"of": len(tasks)}])])


def test_merged_records_are_shown_as_they_are() -> None:
    found = seen(Merged(), records=4)
    assert (found.rest, found.examples) == ([{"of": 4}], [])
    assert "of 4" in str(found)


def test_a_drop_shows_the_value_and_the_limit_that_it_breaks() -> None:
    found = seen(AtLeast())
    [drop] = found.stages[1].drops
    assert (drop.reason, drop.items, drop.values) == ("too small", 6, {"score": 0})
    assert drop.limits == ["0 < min_n 2"]
    assert drop.record == {"n": 0, "text": "number 0"}
    assert "0 < min_n 2" in str(found)


def test_scores_for_the_preview_are_not_in_its_records() -> None:
    assert [set(row) for row in seen(AtLeast()).rest] == [{"n", "text"}] * 2


def test_a_drop_shows_what_the_stage_measured_itself() -> None:
    [drop] = seen(AtLeast(score_field="n2")).stages[1].drops
    assert drop.values == {"n2": 0}


def test_large_files_are_read_in_part(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    line = json.dumps({"text": "a" * 1000}) + "\n"
    (folder / "large.jsonl").write_text(line * 3000)
    plan = Pipeline("trial", stages=[JsonlReader(str(folder))]).build()
    found = preview(plan, 5)
    reader = found.stages[-1].counts
    assert found.records == 5
    assert reader.bytes_in <= 1024 * 1024


def test_files_of_one_source_are_sampled_one_by_one(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=30, lines=2)
    reader = JsonlReader(str(tmp_path / "in"), files_per_partition=30)
    found = preview(Pipeline("trial", stages=[reader]).build(), 10)
    assert len(found.sources) == 10


def test_a_pipeline_previews_itself(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=3, lines=2)
    found = Pipeline("trial", stages=[JsonlReader(str(tmp_path / "in"))]).preview(n=3)
    assert found.kept == 3
    assert str(found).splitlines()[0] == "trial: 3 records from 3 files"
    assert repr(found) == str(found)


def test_the_content_of_files_is_not_shown() -> None:
    @processing_stage(name="encoded")
    def encoded(task: DocumentBatch) -> DocumentBatch:
        return DocumentBatch.from_pylist([{**row, "file": b"x" * 100} for row in task.to_pylist()])

    found = seen(encoded)
    assert found.rest[0]["file"] == "<100 bytes>"
    assert json.dumps(found.to_json())


def test_writers_are_left_out(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", files=3, lines=2)
    writer = JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "dropped"))
    stages = [JsonlReader(str(tmp_path / "in")), even_only, writer]
    found = preview(Pipeline("trial", stages=stages).build(), 3)
    assert (found.records, found.left_out) == (3, ["jsonl_writer"])
    assert found.stages[-1].drops[0].items == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
