"""Problems that are found before anything runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    Pipeline,
    PipelineError,
    ProcessingStage,
    processing_stage,
)


@processing_stage
def same(task: DocumentBatch) -> DocumentBatch:
    return task


class Idle(ProcessingStage[DocumentBatch, DocumentBatch]):
    pass


@pytest.fixture
def raw(tmp_path: Path) -> str:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.jsonl").write_text('{"text": "one"}\n')
    return str(tmp_path / "raw")


def problems(*stages: Any, **settings: Any) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        Pipeline(**{"name": "wrong", "stages": list(stages), **settings}).build()
    return caught.value.problems


def test_a_stage_that_does_nothing(raw: str) -> None:
    assert problems(JsonlReader(raw), Idle()) == [
        "stage 3 'idle': Idle defines neither process nor process_batch; write one"
    ]


@pytest.mark.parametrize("name", ["", " ", "a/b", "../up", "..", ".hidden", "back\\slash"])
def test_a_name_that_no_folder_can_have(raw: str, name: str) -> None:
    assert problems(JsonlReader(raw), same, name=name) == [
        f"{name!r} cannot be a pipeline's name, because its run directory has the same name: "
        "use letters, digits, - and _"
    ]


def test_a_reader_in_the_middle(raw: str, tmp_path: Path) -> None:
    assert problems(JsonlWriter(f"{tmp_path}/out"), JsonlReader(raw)) == [
        "stage 2 'jsonl_reader_files': it takes Empty, but 'jsonl_writer' before it returns "
        "FileGroup; a reader can only be the first stage: move it to the front"
    ]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (JsonlReader, ": call it to make one, JsonlReader(...)"),
        (len, ": make a stage of it with @processing_stage(name=...)"),
        ("text.word_count_filter", ""),
        (None, ""),
    ],
)
def test_objects_that_are_not_stages(given: Any, remedy: str) -> None:
    for where, make in {
        "stages": lambda: Pipeline(stages=[same, given]),
        "add_stage()": lambda: Pipeline().add_stage(given),
    }.items():
        with pytest.raises(PipelineError) as caught:
            make()
        assert str(caught.value) == f"{where}: expected a stage, but got {given!r}{remedy}"


def test_one_stage_without_a_list() -> None:
    with pytest.raises(PipelineError, match=r"^stages must be a list, got a single stage"):
        Pipeline(stages=same)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["3", True, -1, 1.5, float("nan")])
def test_an_invalid_budget(raw: str, limit: Any) -> None:
    assert problems(JsonlReader(raw), same, max_failures=limit) == [
        f"max_failures is {limit!r}, but must be a count (0, 1, 2, …) or a share (0.0 to 1.0)"
    ]


def test_a_result_has_a_short_repr(raw: str, tmp_path: Path) -> None:
    result = Pipeline("shown", stages=[JsonlReader(raw), JsonlWriter(f"{tmp_path}/out")]).run()
    run_dir = f"{tmp_path}/out/.curator/shown"
    assert repr(result) == f"<RunResult done: 1 sources, 1 tasks, 1 files; run_dir={run_dir!r}>"


@dataclass
class Between(ProcessingStage[DocumentBatch, DocumentBatch]):
    """A stage with limits that it does not check itself."""

    min_size: float = 1
    max_size: float | None = 10

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


def test_limits_without_a_number_in_between_are_refused() -> None:
    with pytest.raises(PipelineError, match=r"min_size \(20\) is greater than max_size \(10\)"):
        Pipeline("p", stages=[Between(min_size=20)]).build(tasks=[])


@pytest.mark.parametrize("stage", [Between(), Between(10), Between(20, None), Between(0, 5)])
def test_other_limits_are_accepted(stage: Between) -> None:
    assert Pipeline("p", stages=[stage]).build(tasks=[]).notes == ()


def test_a_default_minimum_beside_a_given_maximum_is_noted() -> None:
    [note] = Pipeline("p", stages=[Between(max_size=5)]).build(tasks=[]).notes
    assert "min_size is 1 by default" in note
