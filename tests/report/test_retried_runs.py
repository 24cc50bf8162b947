"""A retry adds to the record of its run and loses nothing."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Rejected,
)
from curator_core.errors import BudgetError
from curator_core.model.records import StageCounts
from curator_report.page import write_report
from curator_report.run_record import read_run
from curator_report.stage_tables import steps

HERE = LocalExecutor(workers=0)


@dataclass
class Doubt(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Rejects all records but the first until `calm` is there; exits if `dies` exists."""

    calm: str
    dies: str = ""

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Rejected]:
        if os.path.exists(self.dies):
            os._exit(9)
        if os.path.exists(self.calm):
            return [task]
        others = range(1, task.num_items)
        return [task.take([0]), *(Rejected("not sure", f"row {row}", row=row) for row in others)]


@dataclass
class Short(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drops some records, so that there is something to show."""

    def process(self, task: DocumentBatch) -> list[object]:
        return list(task.keep([row["n"] != 2 for row in task.to_pylist()], "a two"))


def pipeline_in(folder: Path, **options: object) -> Pipeline:
    (folder / "in").mkdir(exist_ok=True)
    for name in "abc":
        if not (folder / f"in/{name}.jsonl").exists():
            lines = "".join(json.dumps({"text": f"{name}{n}", "n": n}) + "\n" for n in range(4))
            (folder / f"in/{name}.jsonl").write_text(lines)
    stages = [
        JsonlReader(str(folder / "in")),
        Short(),
        Doubt(str(folder / "calm"), str(folder / "dies")),
        JsonlWriter(str(folder / "out")),
    ]
    given = {"max_failures": None, **options}
    return Pipeline("story", stages=stages, **given)  # type: ignore[arg-type]


def test_report_and_result_cover_the_run_and_its_retries(tmp_path: Path) -> None:
    pipeline = pipeline_in(tmp_path)
    first = pipeline.run(HERE)
    run_dir = str(first.run_dir)
    before = read_run(run_dir, in_short=True)
    (tmp_path / "calm").touch()
    result = pipeline.retry(run_dir, HERE)
    after = read_run(run_dir, in_short=True)

    assert list(result.stages) == list(first.stages)
    lister, reader, *_ = result.stages.values()
    assert (lister.tasks_out, reader.items_out) == (3, 12)
    assert all(after.result.usages[name].tasks >= usage.tasks for name, usage in
               before.result.usages.items())  # fmt: skip
    assert after.result.usages.keys() == before.result.usages.keys() == result.usages.keys()
    for name in ("started", "command", "executor"):
        assert after.facts[name] == before.facts[name]
    assert after.facts["retries"] == 1
    assert after.result.sources_done == 3
    shown = steps(after.result.stages)
    assert [(step.items, step.of) for step in shown][-1] == (9, 12)
    page = Path(write_report(run_dir)).read_text()
    assert all(float(width) <= 100 for width in re.findall(r"width:([\d.]+)%", page))
    assert "<b>9</b><small>of 12 · 75.0 %</small>" in page


def test_shares_are_right_if_the_number_of_listed_files_is_unknown() -> None:
    """As in a run that was killed before it wrote its result."""
    stages = {
        "list": StageCounts(),
        "read": StageCounts(items_in=8, files_in=8, items_out=8),
        "drop": StageCounts(items_in=8, items_out=4, items_dropped=4),
    }
    assert [(step.items, step.of) for step in steps(stages)] == [(8, 8), (4, 8), (4, 8)]


def test_a_retry_does_not_finish_an_unfinished_run(tmp_path: Path) -> None:
    pipeline = pipeline_in(tmp_path)
    with pipeline.stream(HERE) as stream:
        next(stream)
    run_dir = str(stream.result.run_dir)
    assert read_run(run_dir).result.status == "closed"
    (tmp_path / "calm").touch()
    pipeline.retry(run_dir, HERE)
    record = read_run(run_dir)
    assert (record.result.status, record.result.quarantined) == ("closed", [])


def test_a_run_over_its_failure_budget_is_done_after_a_successful_retry(tmp_path: Path) -> None:
    pipeline = pipeline_in(tmp_path, max_failures=0.1)
    with pytest.raises(BudgetError):
        pipeline.run(HERE)
    run_dir = str(tmp_path / "out/.curator/story")
    assert read_run(run_dir).result.status == "failed"
    (tmp_path / "calm").touch()
    pipeline.retry(run_dir, HERE)
    assert read_run(run_dir).result.status == "done"


def test_a_killed_retry_loses_nothing_of_the_record(tmp_path: Path) -> None:
    pipeline = pipeline_in(tmp_path)
    run_dir = str(pipeline.run(HERE).run_dir)
    before = read_run(run_dir, in_short=True)
    (tmp_path / "dies").touch()
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); "
        f"from {__name__} import HERE, pipeline_in; "
        "folder = Path(sys.argv[2]); "
        "pipeline_in(folder).retry(folder / 'out/.curator/story', HERE)"
    )
    root = str(Path(__file__).parents[__name__.count(".")])  # or its stages were others
    done = subprocess.run([sys.executable, "-c", script, root, str(tmp_path)], check=False)
    assert done.returncode == 9
    killed = read_run(run_dir, in_short=True)
    assert killed.state == "dead"
    assert killed.result.usages.keys() == before.result.usages.keys()
    assert len(killed.result.quarantined) == len(before.result.quarantined)
    (tmp_path / "dies").unlink()
    (tmp_path / "calm").touch()
    result = pipeline.retry(run_dir, HERE)
    assert (result.quarantined, read_run(run_dir).result.status) == ([], "done")
    assert read_run(run_dir).facts["command"] == before.facts["command"]
