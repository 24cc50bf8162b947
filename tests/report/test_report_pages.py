"""Pages that observers leave: of runs that ended, and none of runs without a run directory."""

import json
from pathlib import Path

import pytest
from curator_core import JsonlReader, JsonlWriter, LocalExecutor, Pipeline, StageError, Task
from curator_core.model.documents import DocumentBatch
from curator_core.model.functions import processing_stage


@processing_stage(name="refuses")
def refuses(task: DocumentBatch) -> DocumentBatch:
    raise ValueError("no")


def test_every_run_with_a_run_directory_gets_a_page(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    ends = [JsonlReader(str(tmp_path / "in.jsonl")), JsonlWriter(str(tmp_path / "out"))]
    done = Pipeline("done", stages=ends).run(LocalExecutor(workers=0))
    page = Path(str(done.run_dir)) / "report.html"
    assert "done is done: 1 source" in page.read_text()
    page.unlink()
    Pipeline("done", stages=ends).run(LocalExecutor(workers=0))
    assert not page.exists(), "a run that did nothing writes no page"
    page.write_text("an earlier run")
    with Pipeline("done", stages=ends).stream(LocalExecutor(workers=0), resume=False) as stream:
        assert not page.exists(), "it would be mistaken for the page of the current run"
        list(stream)
    elsewhere = JsonlWriter(str(tmp_path / "elsewhere"))
    failing = Pipeline("bad", stages=[ends[0], refuses, elsewhere], on_error="fail")
    with pytest.raises(StageError):
        failing.run(LocalExecutor(workers=0), run_dir=str(tmp_path / "bad"))
    assert "bad failed" in (tmp_path / "bad" / "report.html").read_text()


def test_a_pipeline_that_writes_nothing_has_no_run_directory(tmp_path: Path) -> None:
    result = Pipeline("none", stages=[same]).run(LocalExecutor(workers=0), [Task(1)])
    assert result.run_dir is None


def test_a_finished_workflow_that_is_run_again_gets_its_missing_page(tmp_path: Path) -> None:
    """As after a run without curator-report."""
    dedup = pytest.importorskip("curator_dedup")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in "aab"))
    workflow = dedup.ExactDeduplicationWorkflow(str(tmp_path / "in.jsonl"), str(tmp_path / "out"))
    page = Path(workflow.run(LocalExecutor(workers=0)).report)
    first = page.read_text()
    page.unlink()
    again = workflow.run(LocalExecutor(workers=0))
    assert (again.did_nothing, again.report) == (True, str(page))
    assert page.read_text() == first


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task
