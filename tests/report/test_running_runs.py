"""Reading the directory of a run while it is running, and after it was killed."""

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curator_core.model.records import StageCounts
from curator_core.model.scores import Scores
from curator_core.model.snapshot import RunSnapshot, StageSnapshot
from curator_core.model.usage import Usage
from curator_core.run.journal import to_line
from curator_core.run.snapshot import FILE
from curator_report.page import render
from curator_report.run_record import read_run, state_of
from fsspec.implementations.memory import MemoryFileSystem
from reportkit import write_run


@contextmanager
def running_run(folder: Path, snapshot: RunSnapshot) -> Iterator[str]:
    """Make a run without finished sources, and hold its lock as its process would."""
    run = Path(write_run(folder, stages=2, events=0))
    facts = json.loads((run / "run.json").read_text())
    del facts["result"], facts["written"]
    (run / "run.json").write_text(json.dumps({**facts, "status": "running"}))
    (run / FILE).write_bytes(to_line(snapshot.to_json()))
    with open(run / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield str(run)


def snapshot_of_two_hours() -> RunSnapshot:
    """Make a snapshot: one long source of four, with recent progress in its second stage."""
    counts, usage = StageCounts(tasks_in=7, items_in=700, items_out=690), Usage()
    usage.seconds, usage.cpu_s, usage.tasks = 90.0, 88.0, 7
    scored = StageCounts(scores={"score": Scores.of([1.0])})
    stages = (
        StageSnapshot(0, "stage_0", scored, scored, Usage()),
        StageSnapshot(1, "stage_1", counts, StageCounts(), usage),
    )
    now = time.time()
    return RunSnapshot(now, "large", "LocalExecutor", "running", 7200.0, 0, 0, 0, 1, 3, stages,
                 last_progress=now - 2)  # fmt: skip


def test_the_page_includes_unfinished_sources(tmp_path: Path) -> None:
    with running_run(tmp_path / "run", snapshot_of_two_hours()) as run:
        record = read_run(run)
        page = render(record)
    assert (record.state, record.total, record.to_json()["sources_in_all"]) == ("running", 4, 4)
    assert record.result.stages["stage_1"].items_in == 700
    assert record.last_progress is not None
    assert time.time() - record.last_progress < 60
    assert '<p class="going">large is running: 0 of 4 sources done' in page
    assert "<b>stage_1</b>: it took 100 % of all time in stages" in page
    assert f"Next: <code>curate status {run} --watch</code> shows how far it is." in page


def test_the_last_snapshot_of_a_killed_run_is_ignored(tmp_path: Path) -> None:
    with running_run(tmp_path / "run", snapshot_of_two_hours()) as run:
        pass
    record = read_run(run)
    assert (record.state, record.total) == ("dead", None)
    assert record.result.stages["stage_1"].items_in == 0


def test_a_remote_run_is_not_confused_with_a_local_folder_of_the_same_name(
    tmp_path: Path,
) -> None:
    fs, here = MemoryFileSystem(), str(tmp_path)
    fs.pipe_file(f"{here}/run.json", to_line({"status": "running"}))
    fs.pipe_file(f"{here}/lock", to_line({"renewed": time.time()}))
    try:
        assert state_of(f"memory://{here}") == "running"
    finally:
        fs.rm(here, recursive=True)
