"""Snapshots of a run, and the progress and rates computed from them."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, processing_stage
from curator_core.model.progress import Meter
from curator_core.model.records import StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.snapshot import RunSnapshot, StageSnapshot
from curator_core.model.usage import Usage
from curator_core.run.run import ActiveRun
from curator_core.run.snapshot import SnapshotEmitter

BATCHES = [DocumentBatch.from_pylist([{"text": "a"}, {"text": "b"}]) for _ in range(4)]


@processing_stage(name="first_only")
def first_only(task: DocumentBatch) -> object:
    return task.keep([True, False], "not the first")


def pipeline() -> Pipeline:
    return Pipeline("trial", stages=[first_only])


def at(seconds: float, status: str = "running", **facts: Any) -> RunSnapshot:
    """A snapshot of a run with one stage."""
    counts = facts.pop("counts", StageCounts())
    stage = StageSnapshot(0, "first_only", counts, counts, Usage())
    numbers = {"done": 0, "skipped": 0, "failed": 0, "open": 0, "left": None, **facts}
    return RunSnapshot(0.0, "trial", "Local", status, seconds, stages=(stage,), **numbers)


@pytest.fixture
def run() -> Iterator[ActiveRun]:
    """A run that has not started yet."""
    stream = pipeline().stream(LocalExecutor(workers=0), BATCHES, progress=False)
    yield stream.run
    stream.close()


def walk(run: ActiveRun, hear: Callable[[dict[str, Any]], None]) -> None:
    run.events.listen(hear, "snapshot")
    run.start("Local", "given")
    for _ in LocalExecutor(workers=0).execute(run.plan, run):
        pass
    run.finish()


def test_a_run_emits_a_first_and_a_last_snapshot(run: ActiveRun) -> None:
    seen: list[RunSnapshot] = []
    walk(run, lambda event: seen.append(event["snapshot"]))
    first, last = seen[0], seen[-1]
    assert (first.status, first.done, first.stages[0].counts.items_in) == ("running", 0, 0)
    assert (last.status, last.done, last.left, last.open) == ("done", 4, 0, 0)
    [stage] = last.stages
    assert (stage.name, stage.counts.items_in, stage.counts.items_dropped) == ("first_only", 8, 4)
    assert stage.usage.tasks == 4
    assert stage.usage.seconds > 0
    assert last.time >= last.last_progress >= first.time


def test_a_snapshot_survives_json(run: ActiveRun) -> None:
    seen: list[RunSnapshot] = []
    walk(run, lambda event: seen.append(event["snapshot"]))
    [snapshot] = seen[-1:]
    read = RunSnapshot.from_json(json.loads(json.dumps(snapshot.to_json())))
    assert read.to_json() == snapshot.to_json()
    assert Meter().read(read) == Meter().read(snapshot)


def test_work_in_progress_counts(run: ActiveRun) -> None:
    run.counts_in_progress["0"] = {0: StageCounts(tasks_in=1, items_in=7)}
    [stage] = run.snapshot().stages
    assert (stage.counts.items_in, stage.settled.items_in) == (7, 0)


def test_reports_of_open_sources_count(run: ActiveRun) -> None:
    """The table shows progress of a source with a thousand tasks long before it is done."""
    first = run.plan.stages[0]
    task = next(run.sources())
    report = CallReport()
    report.part(task.lineage).of(first.index).items_in = 5
    assert run.apply_report(report, [task]) == []
    [stage] = run.snapshot().stages
    assert (stage.counts.items_in, stage.settled.items_in) == (5, 0)
    run.restart_source(next(iter(task.lineage))[0], "its worker died")
    assert run.snapshot().stages[0].counts.items_in == 0


def test_snapshots_cost_at_most_a_hundredth_of_the_time(run: ActiveRun) -> None:
    """If a listener is slow, there are fewer snapshots."""
    heard: list[float] = []

    def hear(_: object) -> None:
        heard.append(time.monotonic())
        time.sleep(0.01)

    run.events.listen(hear, "snapshot")
    emitter = SnapshotEmitter(run.events, run.snapshot)
    began = time.monotonic()
    while len(heard) < 2:
        emitter.tick()
    assert heard[1] - began >= 1.0


def test_last_progress_is_when_a_count_changed(run: ActiveRun) -> None:
    emitter = SnapshotEmitter(run.events, run.snapshot)
    first = emitter.take().last_progress
    assert emitter.take().last_progress == first
    run.usages.of(0).add_tasks(0.1)
    assert emitter.take().last_progress > first


def test_a_meter_returns_totals_and_rates() -> None:
    meter = Meter()
    meter.read(at(0.0, done=2))
    progress = meter.read(at(4.0, done=4, skipped=3, open=1, left=5, counts=EIGHT))
    assert (progress.done, progress.total, progress.seconds) == (7, 13, 4.0)
    assert (progress.rate, progress.stages[0].rate) == (0.5, 2.0)


EIGHT = StageCounts(tasks_in=4, items_in=8)


def test_a_rate_is_never_negative() -> None:
    meter = Meter()
    meter.read(at(0.0, counts=EIGHT))
    assert meter.read(at(1.0)).stages[0].rate == 0.0


def test_rates_cover_the_last_30_seconds() -> None:
    meter = Meter()
    done = 0
    for second in range(121):
        progress = meter.read(at(float(second), done=done))
        done += 5 if second < 60 else 1
    assert progress.rate == pytest.approx(1.0, rel=0.05)
