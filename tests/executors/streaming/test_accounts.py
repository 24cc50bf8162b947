"""Counts are whole, however slowly and in whatever order outputs are taken."""

import threading
from typing import Any

from curator_core import Pipeline, ProcessingStage, Task
from curator_core.execution.worker import StageWorker
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import AnyTask
from curator_core.run.run import ActiveRun
from curator_core.run.sources import TaskListing
from curator_core.run.store import NoStore
from curator_streaming.accounts import Accounts, Final
from curator_streaming.outboxes import Outbox

Tasks = ProcessingStage[Task[Any], Task[Any]]


class Twice(Tasks):
    def process(self, task: Task[Any]) -> list[Task[Any]]:
        return [Task(task.data), Task(-task.data)]


class Same(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class Fetched(Accounts):
    """Final outputs are here already, instead of in an object store."""

    def _fetch(self, final: Final) -> Any:
        self._sink.put([one for o in final.ref for one in self._run.emit(o)], final.size)
        return [output.lineage for output in final.ref]


def called(worker: StageWorker, tasks: list[AnyTask]) -> tuple[list[AnyTask], Any]:
    call = worker.call(tasks)
    outputs = list(call.outputs())
    return outputs, call.report


def test_calls_on_the_parts_of_one_source_are_all_counted_before_it_is_done() -> None:
    plan = Pipeline("p", stages=[Twice(), Same()]).build(tasks=[])
    run = ActiveRun(plan, TaskListing([Task(1)]), NoStore())
    outbox = Outbox(threading.Event())
    accounts = Fetched(run, outbox)
    [source] = run.sources()
    keys = tuple(source.lineage)
    first, second = (StageWorker(plan, WorkerInfo("w"), [stage]) for stage in plan.stages)
    for worker in (first, second):
        worker.setup()

    parts, report = called(first, [source])
    accounts.report(report, keys)
    for part in parts:  # each by a call of its own, and nobody takes anything yet
        outputs, report = called(second, [part])
        accounts.final(Final(outputs, 10, keys, report))
    accounts.settle()

    taking = iter(outbox)
    assert [next(taking).data, next(taking).data] == [1, -1]
    accounts.settle()
    assert (run.result.sources_done, accounts.has_left) == (0, True)
    outbox.end()
    assert list(taking) == []
    accounts.settle()
    assert (run.result.sources_done, accounts.has_left, accounts.taken) == (1, False, 20)
    assert run.totals[1].tasks_in == 2
