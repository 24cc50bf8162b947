"""Usage of stages, added up over calls, including those of failed sources."""

import math
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
from curator_core import (
    DocumentBatch,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Task,
    processing_stage,
)
from curator_core.execution.telemetry import resident_bytes
from curator_core.execution.worker import StageWorker
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.usage import BOUNDS, Timesheet, Usage, Usages
from curator_core.plan.plan import Plan
from curator_core.run.run import ActiveRun
from hypothesis import given
from hypothesis import strategies as st

seconds = st.lists(st.floats(0, 2000), min_size=1, max_size=40)


def usage_of(times: list[float]) -> Usage:
    usage = Usage()
    for one in times:
        usage.add_tasks(one)
    return usage


@given(seconds, seconds)
def test_parts_add_up_to_the_whole(some: list[float], others: list[float]) -> None:
    parts = usage_of(some)
    parts.add(pickle.loads(pickle.dumps(usage_of(others))))
    assert parts.to_json() == usage_of(some + others).to_json()
    assert Usage.from_json(parts.to_json()).to_json() == parts.to_json()


@given(seconds)
def test_quantiles_lie_between_the_bounds_around_them(times: list[float]) -> None:
    usage, ordered = usage_of(times), sorted(times)
    assert usage.quantile(1.0) == pytest.approx(max(times))
    for part in (0.5, 0.95):
        exact = ordered[max(0, math.ceil(part * len(ordered)) - 1)]
        read = usage.quantile(part)
        assert read <= max(times)
        assert sum(bound < exact for bound in BOUNDS) >= sum(bound < read for bound in BOUNDS)
        assert read >= max((bound for bound in BOUNDS if bound < exact), default=0.0)


def test_nothing_took_nothing() -> None:
    assert (Usage().quantile(0.5), Usage().to_json()) == (0.0, {})


def test_a_timesheet_tells_setups_and_waiting_once() -> None:
    sheet, usages = Timesheet(), Usages()
    sheet.set_up(3, 1.5)
    time.sleep(0.02)
    sheet.begin(usages, 4)
    assert (usages[3].setups, usages[3].setup_s) == (1, 1.5)
    assert usages[4].waited_s >= 0.02
    again = Usages()
    sheet.end()
    sheet.begin(again, 4)
    assert 3 not in again


def test_this_process_is_somewhere_in_memory() -> None:
    assert 1e6 < resident_bytes() < 1e12


@processing_stage(name="spin")
def spin(task: Task[float]) -> Task[float]:
    until = time.process_time() + task.data
    while time.process_time() < until:
        pass
    return task


@processing_stage(name="doze")
def doze(task: Task[float]) -> Task[float]:
    time.sleep(task.data)
    return task


def usages_of(run_on: LocalExecutor, *line: object) -> Usages:
    pipeline = Pipeline("p", stages=list(line))  # type: ignore[arg-type]
    with pipeline.stream(run_on, [Task(0.05), Task(0.05)]) as stream:
        for _ in stream:
            pass
        return stream.run.usages


@pytest.mark.parametrize("workers", [0, 1])
def test_computing_and_waiting_are_distinguished(workers: int) -> None:
    found = usages_of(LocalExecutor(workers=workers), spin, doze)
    busy, lazy = found[0], found[1]
    assert (busy.tasks, lazy.tasks) == (2, 2)
    assert busy.cpu_s >= 0.1
    assert lazy.seconds >= 0.1
    assert lazy.cpu_s < 0.05
    assert 0.05 <= lazy.quantile(0.95) <= lazy.longest_s
    assert busy.rss_bytes > 1e6
    assert busy.setups == 1


BURN = "while True: pass"


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="Linux only")
def test_waiting_for_a_cpu_is_distinguished_from_other_waiting() -> None:
    """All on one CPU: this process, and two others that are always busy."""
    free = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(free)})
    others = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2)]
    try:
        spins = [spin.with_(name=f"spin_{number}") for number in range(8)]
        found = usages_of(LocalExecutor(workers=0), *spins, doze)
    finally:
        os.sched_setaffinity(0, free)
        for other in others:
            other.kill()
            other.wait()
    busy = Usage()
    for index in range(8):
        busy.add(found[index])
    assert busy.crowded_s > 0.3 * busy.seconds
    assert busy.crowded_s < busy.seconds
    assert Usage.from_json(busy.to_json()).crowded_s == pytest.approx(busy.crowded_s, abs=0.001)
    assert pickle.loads(pickle.dumps(busy)).crowded_s == busy.crowded_s


@processing_stage(name="three")
def three(task: Task[float]) -> object:
    for _ in range(3):
        time.sleep(0.02)
        yield Task(0.0)


def test_a_generator_is_one_task_however_much_it_gives() -> None:
    found = usages_of(LocalExecutor(workers=0), three)
    assert found[0].tasks == 2
    assert found[0].quantile(0.5) >= 0.05


def test_who_takes_outputs_late_holds_the_last_stage() -> None:
    plan = Pipeline("p", stages=[spin]).build()
    worker = StageWorker(plan, WorkerInfo("w"))
    from curator_core.model.lineage import whole_credit

    task = Task(0.0)
    task.lineage = whole_credit("s", 1)
    call = worker.call([task])
    for _ in call.outputs():
        time.sleep(0.03)
    assert call.report.usages[0].held_s >= 0.03


@processing_stage(name="slow")
def slow(task: Task[float]) -> Task[float]:
    time.sleep(1)
    return task


def test_what_took_too_long_is_counted_with_its_stage() -> None:
    pipeline = Pipeline(
        "p", stages=[slow.with_(timeout_s=0.05)], max_failures=None, allow_empty=True
    )
    with pipeline.stream(LocalExecutor(workers=0), [Task(0.0)]) as stream:
        assert list(stream) == []
    assert stream.run.usages[0].timeouts >= 1


class Batched(ProcessingStage[DocumentBatch, DocumentBatch]):
    name = "batched"
    batch_size = 4

    def process_batch(self, tasks: list[DocumentBatch]) -> list[DocumentBatch]:
        time.sleep(0.04)
        return tasks


def test_batches_share_their_time() -> None:
    found = usages_in_one_call(Batched(), 4)
    assert found[0].tasks == 4
    assert found[0].longest_s == pytest.approx(found[0].seconds / 4)
    assert found[0].seconds >= 0.04


def usages_in_one_call(stage: object, tasks: int) -> Usages:
    from curator_core.model.lineage import whole_credit

    plan: Plan = Pipeline("p", stages=[stage]).build()  # type: ignore[list-item]
    worker = StageWorker(plan, WorkerInfo("w"))
    given = [DocumentBatch.from_pylist([{"n": n}]) for n in range(tasks)]
    for number, task in enumerate(given):
        task.lineage, task.task_id = whole_credit(f"s{number}", 1), f"s{number}"
    call = worker.call(given)
    list(call.outputs())
    return call.report.usages


def test_void_work_is_work() -> None:
    """The time of a source that is run again counts twice."""
    pipeline = Pipeline("p", stages=[spin])
    with pipeline.stream(LocalExecutor(workers=0), [Task(0.0)]) as stream:
        run: ActiveRun = stream.run
        task = next(run.sources())
        report = CallReport()
        report.usages.of(0).add_tasks(1.0)
        [(source, _)] = task.lineage
        again = run.restart_source(source, "its worker died")
        run.apply_report(report, [task])
        assert run.usages[0].tasks == 1
        assert again[0].lineage != task.lineage
