"""Curations: stages and workflows as one workflow, killed, run again, with new input."""

import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import (
    Curation,
    DocumentBatch,
    Dropped,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Mixed,
    Pipeline,
    PipelineError,
    ProcessingStage,
    Rejected,
    ResumeError,
)
from curator_core.model.python_file import PythonFunction
from curator_core.workflow import Workflow
from curator_dedup import ExactDeduplicationWorkflow, FuzzyDeduplicationWorkflow

HERE = LocalExecutor(workers=0)

Write = Callable[[Path, list[dict[str, Any]]], Path]
Read = Callable[[Path], list[dict[str, Any]]]
KilledAt = Callable[[Workflow, list[str]], int]


@dataclass
class Shorter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps texts up to a length; rejects those that say so while a file exists."""

    length: int
    broken: str = ""

    def process(self, task: DocumentBatch) -> Any:
        texts = task.data["text"].to_pylist()
        failing = bool(self.broken) and Path(self.broken).exists()
        rejected = [
            Rejected("it is broken", row=row)
            for row, text in enumerate(texts)
            if failing and "broken" in text
        ]
        good = [row for row in range(len(texts)) if row not in {r.row for r in rejected}]
        kept = [row for row in good if len(texts[row]) <= self.length]
        long = [row for row in good if row not in kept]
        dropped = [Dropped("too long", len(long), task.take(long))] if long else []
        return Mixed([task.take(kept), *dropped, *rejected])  # type: ignore[list-item]


WORDS = ["oak", "ash", "elm", "fir", "yew", "box", "rowan"]


def documents(start: int, stop: int) -> list[dict[str, Any]]:
    """Return documents of which some are copies of earlier ones, and some nearly so."""
    words = random.Random(7)
    texts: list[str] = []
    for number in range(stop):
        made = " ".join(words.choices(WORDS, k=30))
        if number % 3 == 2:
            made = texts[number // 2]
        elif number % 7 == 6:
            made = texts[number // 2].rpartition(" ")[0] + " alder"
        texts.append(made)
    return [{"id": number, "text": texts[number]} for number in range(start, stop)]


@pytest.fixture
def raw(tmp_path: Path, write: Write) -> Path:
    for number in range(3):
        write(tmp_path / f"raw/{number}.jsonl", documents(number * 40, number * 40 + 40))
    return tmp_path / "raw"


def curation(raw: Path, output: Path, *middle: Any, **options: Any) -> Curation:
    steps = middle or (
        PythonFunction("def short(text): return len(text) <= 128", "rules.py", "short"),
        ExactDeduplicationWorkflow.step("exact"),
        FuzzyDeduplicationWorkflow.step("fuzzy", char_ngrams=8),
        PythonFunction("def shorter(text): return len(text) <= 124", "rules.py", "shorter"),
    )
    return Curation([JsonlReader(str(raw)), *steps, JsonlWriter(str(output))], **options)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def ids_in(records: list[dict[str, Any]]) -> list[int]:
    return sorted(record["id"] for record in records)


@pytest.fixture
def expected(raw: Path, tmp_path: Path, records_in: Read) -> list[int]:
    """The ids that are kept if nothing disturbs the run."""
    curation(raw, tmp_path / "expected").run(HERE)
    return ids_in(records_in(tmp_path / "expected"))


def test_every_part_removes_what_it_should(expected: list[int]) -> None:
    texts = {document["id"]: document["text"] for document in documents(0, 120)}
    short = {number for number, text in texts.items() if len(text) <= 124}
    kept = {texts[number] for number in expected}

    assert set(expected) < short
    assert len(kept) == len(expected)
    assert len(expected) > 10


def test_a_finished_curation_does_nothing_and_leaves_no_intermediate_files(
    raw: Path, tmp_path: Path
) -> None:
    made = curation(raw, tmp_path / "out")
    made.run(HERE)
    before = files_in(tmp_path / "out")

    again = curation(raw, tmp_path / "out").run(HERE)

    assert (again.did_nothing, files_in(tmp_path / "out")) == (True, before)
    assert again.metadata["2-exact"]["kept"] > again.metadata["3-fuzzy"]["kept"] > 0
    assert not list(Path(made.work_dir).rglob("*.parquet"))


def test_killed_in_every_part_it_resumes(
    raw: Path, tmp_path: Path, killed_at: KilledAt, expected: list[int], records_in: Read
) -> None:
    made = curation(raw, tmp_path / "out")
    marks = [
        "parts/1-records/part-*",
        "parts/2-exact/work/hashes/**/*.parquet",
        "parts/3-fuzzy/work/bands/**/*.parquet",
        "parts/3-fuzzy/output/part-*",
    ]

    assert killed_at(made, marks) >= 3
    made.run(HERE)

    assert ids_in(records_in(tmp_path / "out")) == expected


@pytest.mark.soak
def test_killed_at_thirty_moments_its_output_is_as_if_undisturbed(
    raw: Path, tmp_path: Path, killed_at: KilledAt, expected: list[int]
) -> None:
    from multiprocessing import get_context

    started = time.monotonic()
    curation(raw, tmp_path / "timed").run(HERE)
    whole = time.monotonic() - started
    made, killed = curation(raw, tmp_path / "out"), 0
    for moment in range(30):
        process = get_context("forkserver").Process(target=made.run, args=(HERE,))
        process.start()
        process.join(whole * (moment + 1) / 30)
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
    made.run(HERE)

    assert killed > 10
    outputs = [sorted(files_in(tmp_path / name).values()) for name in ("out", "expected")]
    assert outputs[0] == outputs[1]


def test_new_input_needs_intermediate_files_or_a_new_start(
    raw: Path, tmp_path: Path, write: Write, records_in: Read
) -> None:
    kept = curation(raw, tmp_path / "kept", keep_intermediate=True)
    removed = curation(raw, tmp_path / "removed")
    for made in (kept, removed):
        made.run(HERE)
    write(raw / "3.jsonl", documents(120, 160))
    curation(raw, tmp_path / "fresh").run(HERE)
    fresh = ids_in(records_in(tmp_path / "fresh"))

    assert kept.run(HERE).runs["1-stages"].sources_done == 1
    assert ids_in(records_in(tmp_path / "kept")) == fresh
    with pytest.raises(ResumeError, match="input of 'curation' has changed"):
        removed.run(HERE)
    removed.run(HERE, resume=False)
    assert ids_in(records_in(tmp_path / "removed")) == fresh


@pytest.mark.parametrize("deleted", ["1-records", "2-exact/work", "2-exact/output", "3-fuzzy", ""])
def test_deleted_intermediate_files_are_made_again(
    raw: Path, tmp_path: Path, expected: list[int], records_in: Read, deleted: str
) -> None:
    made = curation(raw, tmp_path / "out", keep_intermediate=True)
    made.run(HERE)
    shutil.rmtree(Path(made.work_dir, "parts", deleted))

    made.run(HERE)

    assert ids_in(records_in(tmp_path / "out")) == expected


def test_a_changed_step_is_refused_and_named(raw: Path, tmp_path: Path) -> None:
    exact = ExactDeduplicationWorkflow.step("exact")
    curation(raw, tmp_path / "out", Shorter(128), exact).run(HERE)

    with pytest.raises(ResumeError, match="'shorter': length 128 became 90"):
        curation(raw, tmp_path / "out", Shorter(90), exact).run(HERE)
    other = ExactDeduplicationWorkflow.step("exact", keep="none")
    with pytest.raises(ResumeError, match="'2-exact': keep None became 'none'"):
        curation(raw, tmp_path / "out", Shorter(128), other).run(HERE)


def test_a_record_that_failed_is_retried_and_compared_with_all_others(
    tmp_path: Path, write: Write, records_in: Read
) -> None:
    texts = ["an oak", "a broken ash", "a broken ash", "an elm"]
    raw = write(tmp_path / "raw/a.jsonl", [{"id": n, "text": t} for n, t in enumerate(texts)])
    (tmp_path / "broken").touch()
    steps = Shorter(50, str(tmp_path / "broken")), ExactDeduplicationWorkflow.step("exact")
    made = curation(raw.parent, tmp_path / "out", *steps, max_failures=None)

    made.run(HERE)
    assert len(records_in(tmp_path / "out")) == 2
    assert not made.run(HERE).did_nothing  # what failed is tried again
    (tmp_path / "broken").unlink()
    made.run(HERE)

    found = sorted(record["text"] for record in records_in(tmp_path / "out"))
    assert found == ["a broken ash", "an elm", "an oak"]
    assert not list(Path(made.work_dir).rglob("*.parquet"))


def test_each_part_writes_what_it_drops_to_a_folder(raw: Path, tmp_path: Path) -> None:
    steps = [
        JsonlReader(str(raw)),
        Shorter(128),
        ExactDeduplicationWorkflow.step("exact"),
        Shorter(124).with_(name="shortest"),
        JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "dropped")),
    ]
    Curation(steps).run(HERE)

    dropped = tmp_path / "dropped"
    first = Pipeline(stages=[JsonlReader(str(dropped / "1-stages"))]).run(HERE).to_arrow()
    last = Pipeline(stages=[JsonlReader(str(dropped / "3-stages"))]).run(HERE).to_arrow()
    assert min(map(len, first["text"].to_pylist())) > 128
    assert {len(text) for text in last["text"].to_pylist()} <= {125, 126, 127, 128}


def test_it_stops_where_nothing_is_left(raw: Path, tmp_path: Path) -> None:
    made = curation(raw, tmp_path / "out", Shorter(1), ExactDeduplicationWorkflow.step())

    result = made.run(HERE)

    assert list(result.runs) == ["1-stages"]
    assert made.final_run(result).kept_nothing


READER, WRITER = JsonlReader("raw"), JsonlWriter("out")
EXACT = ExactDeduplicationWorkflow.step()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "there are no steps"),
        ([READER, EXACT], "ends with the workflow 'exact_deduplication'; put a writer"),
        ([EXACT, WRITER], "begins with the workflow 'exact_deduplication'; put a reader"),
        ([READER, EXACT, Shorter(3)], "ends with 'shorter', which writes nothing"),
        ([READER, ExactDeduplicationWorkflow, WRITER], r"use .step\(\) to make a step"),
    ],
)
def test_steps_that_make_no_curation(steps: list[Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        Curation(steps)


def test_options_of_a_step_that_do_not_fit() -> None:
    with pytest.raises(PipelineError, match=r"no option 'text_fild'.*text_field"):
        ExactDeduplicationWorkflow.step(text_fild="body")
    with pytest.raises(PipelineError, match="output_path is chosen by the curation"):
        ExactDeduplicationWorkflow.step(output_path="there")


def test_a_column_that_a_workflow_needs_is_checked_before_the_run(
    raw: Path, tmp_path: Path
) -> None:
    exact = ExactDeduplicationWorkflow.step("exact", text_field="txt")

    with pytest.raises(PipelineError, match=r"'2-exact' needs a column 'txt'.*text"):
        curation(raw, tmp_path / "out", exact).run(HERE)
    assert not (tmp_path / "out" / ".curator" / "curation" / "parts").exists()


def test_stages_alone_are_a_curation_too(raw: Path, tmp_path: Path, records_in: Read) -> None:
    result = curation(raw, tmp_path / "out", Shorter(128)).run(HERE)

    assert list(result.runs) == ["1-stages"]
    assert records_in(tmp_path / "out")


def test_problems_of_all_parts_are_found_before_the_run(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "raw/a.jsonl", [{"id": 1, "text": "a"}])
    wrong = ExactDeduplicationWorkflow.step("exact", keep="some")
    made = curation(tmp_path / "raw", tmp_path / "out", wrong, Shorter(3).with_(batch_size=0))

    with pytest.raises(PipelineError) as error:
        made.run(HERE)

    assert "step '2-exact': keep is 'some'" in str(error.value)
    assert "batch_size is 0" in str(error.value)
    assert not (tmp_path / "out").exists()
