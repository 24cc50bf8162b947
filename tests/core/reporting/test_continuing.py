"""A page ends a run with what to type next."""

from dataclasses import replace
from pathlib import Path

import pytest
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline, StageError, Task
from curator_core.model.documents import DocumentBatch
from curator_core.model.functions import processing_stage
from curator_core.model.records import QuarantineRecord
from curator_core.reporting.continuing import next_step, same_command
from curator_core.reporting.directories import read_run
from curator_core.reporting.pages import render
from reportkit import write_run

FAILED = QuarantineRecord("t", "stage_0", 0, "no", payload=b"x")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["/opt/bin/curate", "run", "my recipe.yaml"], "curate run 'my recipe.yaml'"),
        (["curate", "run", "r.yaml", "--no-resume"], "curate run r.yaml"),
        (["jobs/clean.py", "--fast"], "python jobs/clean.py --fast"),
        (["-c"], ""),
        ([], ""),
    ],
)
def test_a_command_is_told_as_it_is_typed(typed: list[str], told: str) -> None:
    assert same_command(typed) == told


def test_what_is_next_depends_on_how_it_ended(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stages=1, events=1, command=["/bin/curate", "run", "r.yaml"])
    record = read_run(run, in_short=True)
    assert next_step(record) == ("curate run r.yaml", "does what is new, once there is more input")
    record.result.quarantined = [FAILED]
    assert next_step(record)[0] == f"pipeline.retry('{run}')"
    (tmp_path / "run/recipe.yaml").touch()
    assert next_step(record)[0] == f"curate retry {run}"
    record.result.status = "failed"
    assert next_step(record)[0] == "curate run r.yaml"
    assert next_step(replace(record, state="running"))[0] == f"curate status {run} --watch"


def test_a_workflow_is_run_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / ".curator/flow/one", stages=1, events=1, command=["curate", "flow"])
    record = read_run(run, in_short=True)
    record.result.quarantined = [FAILED]
    assert next_step(record)[0] == "curate flow"


def test_what_is_next_is_told_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stages=1, events=1, command=["/bin/curate", "run", "r.yaml"])
    record = read_run(run, in_short=True)
    record.result.quarantined = [FAILED]
    record.result.status = "failed"
    head = render(record).partition("<h2>")[0]
    assert "<code>curate run r.yaml</code>" in head
    assert "retry" not in head


@processing_stage(name="refuses")
def refuses(task: DocumentBatch) -> DocumentBatch:
    raise ValueError("no")


def test_every_run_that_is_remembered_has_its_page(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    ends = [JsonlReader(str(tmp_path / "in.jsonl")), JsonlWriter(str(tmp_path / "out"))]
    done = Pipeline("done", stages=ends).run(LocalExecutor(workers=0))
    page = Path(str(done.run_dir)) / "report.html"
    assert "done is done: 1 source" in page.read_text()
    page.unlink()
    Pipeline("done", stages=ends).run(LocalExecutor(workers=0))
    assert not page.exists(), "a run that did nothing has nothing to tell"
    page.write_text("of a run that was here before")
    with Pipeline("done", stages=ends).stream(LocalExecutor(workers=0), resume=False) as stream:
        assert not page.exists(), "it would be taken for that of the run under way"
        list(stream)
    elsewhere = JsonlWriter(str(tmp_path / "elsewhere"))
    failing = Pipeline("bad", stages=[ends[0], refuses, elsewhere], on_error="fail")
    with pytest.raises(StageError):
        failing.run(LocalExecutor(workers=0), run_dir=str(tmp_path / "bad"))
    assert "bad failed" in (tmp_path / "bad" / "report.html").read_text()


def test_a_pipeline_that_writes_nothing_leaves_nothing(tmp_path: Path) -> None:
    result = Pipeline("none", stages=[same]).run(LocalExecutor(workers=0), [Task(1)])
    assert result.run_dir is None


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task
