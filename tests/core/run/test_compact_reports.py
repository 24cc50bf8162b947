"""Reports have the same content and effect after they were pickled."""

import pickle
from collections.abc import Iterator
from dataclasses import asdict
from random import Random
from typing import Any

from curator_core import Dropped, Executor, Pipeline, ProcessingStage, Rejected, RunResult, Task
from curator_core.execution.worker import StageWorker
from curator_core.model.lineage import HALF, WHOLE, source_of
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan
from curator_core.run.run import ActiveRun
from hypothesis import given, settings
from hypothesis import strategies as st

Tasks = ProcessingStage[Task[Any], Task[Any]]
PASSED, DROPPED, TWO, RAISED, NOTED, REFUSED, EXPLAINED = range(7)


class Moody(Tasks):
    """Does with a task as the task says."""

    name = "moody"

    def process(self, task: Task[Any]) -> Any:
        self.log_metrics({"data": task.data})
        if task.data % 10 == RAISED:
            raise ValueError(f"{task.data} is ruined")
        given: dict[int, Any] = {
            DROPPED: None,
            TWO: [Task(task.data), Task(task.data)],
            NOTED: [task, Dropped("long", 2)],
            REFUSED: [task, Rejected("torn")],
            EXPLAINED: [Dropped("empty")],
        }
        return given.get(task.data % 10, task)


def line() -> Pipeline:
    return Pipeline("p", stages=[Moody(), Moody().with_(name="again")], max_failures=None)


def travelled(report: CallReport) -> CallReport:
    twin = pickle.loads(pickle.dumps(report))
    assert isinstance(twin, CallReport)
    return twin


def content(report: CallReport) -> tuple[Any, ...]:
    """Return the content of a report, without counts that are all zero."""
    parts = {
        keys: (
            {i: c.to_json() for i, c in part.counts.items() if c.to_json()},
            [asdict(record) for record in part.quarantined],
        )
        for keys, part in report.parts.items()
    }
    return report.spent, report.lost, report.staged, parts


class Unreliable(Executor):
    """Some calls are lost and run again; dead workers report late, and their reports are void."""

    def __init__(self, seed: int, *, travels: bool) -> None:
        self._dice = Random(seed)
        self._travels = travels
        self.plain = 0

    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
        worker = StageWorker(plan, WorkerInfo("w", run_token=run.token), run.worker_stages)
        worker.setup()
        waiting = list(run.sources())
        late: list[tuple[list[AnyTask], CallReport, list[AnyTask]]] = []
        while waiting:
            size = self._dice.randint(1, 5)
            batch, waiting = waiting[:size], waiting[size:]
            call = worker.call(batch)
            outputs = list(call.outputs())
            report = travelled(call.report) if self._travels else call.report
            self.plain += report.compact is not None
            if self._dice.random() < 0.25:
                late.append((outputs, report, batch))
                for task in batch:
                    waiting += run.restart_source(source_of(task.lineage), "its worker died")
                continue
            yield from self._settled(run, outputs, report, batch)
            if late and self._dice.random() < 0.5:
                yield from self._settled(run, *late.pop())

    def _settled(
        self, run: ActiveRun, outputs: list[AnyTask], report: CallReport, batch: list[AnyTask]
    ) -> Iterator[AnyTask]:
        for output in outputs:
            yield from run.add_output(output)
        yield from run.apply_report(report, batch)


def account(result: RunResult) -> Any:
    stages = {name: {**counts.to_json(), "seconds": 0} for name, counts in result.stages.items()}
    outputs = sorted((task.task_id, task.data) for task in result)
    records = sorted((r.task_id, r.stage_index, r.reason) for r in result.quarantined)
    return stages, outputs, records, result.sources_done


numbers = st.lists(st.integers(0, 99), min_size=1, max_size=25)


@given(numbers)
@settings(max_examples=60, deadline=None)
def test_a_report_survives_pickling(data: list[int]) -> None:
    plan = line().build(tasks=[])
    worker = StageWorker(plan, WorkerInfo("w"))
    worker.setup()
    tasks: list[AnyTask] = [Task(number) for number in data]
    for number, task in enumerate(tasks):
        task.task_id, task.lineage = str(number), {(str(number), 1): WHOLE}
    for planned in plan.stages:
        assert planned.policy.on_error == "quarantine"
    call = worker.call(tasks)
    list(call.outputs())
    twin = travelled(call.report)
    assert {i: c.to_json() for i, c in twin.counts.items()} == {
        i: c.to_json() for i, c in call.report.counts.items()
    }
    assert content(travelled(twin)) == content(twin) == content(call.report)


@given(numbers, st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_a_run_is_the_same_with_pickled_reports(data: list[int], seed: int) -> None:
    tasks = [Task(number) for number in data]
    plain, simple = (
        account(line().run(Unreliable(seed, travels=travels), tasks)) for travels in (True, False)
    )
    assert plain == simple
    assert plain[-1] == len(tasks)


def test_sources_with_only_counts_are_sent_as_columns() -> None:
    executor = Unreliable(1, travels=True)
    tasks = [Task(10 * number + (DROPPED, PASSED, EXPLAINED)[number % 3]) for number in range(40)]
    result = line().run(executor, tasks)
    assert executor.plain > 5
    counts = result.stages["moody"]
    assert (counts.tasks_in, counts.tasks_dropped) == (40, 27)
    assert counts.reasons == {"dropped": 14, "empty": 13}


def test_a_plain_report_that_comes_twice_counts_once() -> None:
    class Twice(Executor):
        def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
            worker = StageWorker(plan, WorkerInfo("w"), run.worker_stages)
            worker.setup()
            sources = list(run.sources())
            call = worker.call(sources)
            outputs = list(call.outputs())
            first, second = travelled(call.report), travelled(call.report)
            assert first.compact is not None
            assert not first.compact.wholes
            assert set(second.spent.values()) == {HALF}
            for output in outputs:
                yield from run.add_output(output)
            for report in (first, second):
                yield from run.apply_report(report, sources)
            for output in outputs:
                assert run.add_output(output) == []

    result = line().run(Twice(), [Task(0), Task(10)])
    assert (len(result), result.sources_done, result.stages["again"].tasks_out) == (2, 2, 2)
