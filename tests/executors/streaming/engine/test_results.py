"""Results: outputs reach the consumer in order, and counts are complete before a source is done."""

import threading
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.errors import StageError
from curator_core.execution.worker import StageWorker
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import AnyTask
from curator_core.run.run import ActiveRun
from curator_core.run.sources import TaskListing
from curator_core.run.store import NoStore
from curator_streaming.engine.results import FinalBlock, OutputQueue, Results

Tasks = ProcessingStage[Task[Any], Task[Any]]


@pytest.fixture
def queue() -> OutputQueue:
    return OutputQueue(threading.Event(), max_bytes=100)


class TestOutputQueue:
    def test_outputs_keep_their_order(self, queue: OutputQueue) -> None:
        queue.add([Task(1), Task(2)], 10)
        queue.add([], 10)
        queue.add([Task(3)], 10)
        queue.end()

        assert [task.data for task in queue] == [1, 2, 3]
        assert (queue.added, queue.consumed) == (3, 3)

    def test_an_output_is_consumed_when_the_next_one_is_requested(self, queue: OutputQueue) -> None:
        queue.add([Task(1), Task(2)], 10)
        outputs = iter(queue)

        next(outputs)
        assert queue.consumed == 0
        next(outputs)
        assert queue.consumed == 1

    def test_a_consumed_batch_makes_room_and_wakes_the_driver(self) -> None:
        wakeup = threading.Event()
        queue = OutputQueue(wakeup, max_bytes=100)
        queue.add([Task(1)], 100)
        queue.add([Task(2)], 100)
        outputs = iter(queue)

        next(outputs)
        assert (queue.has_room, wakeup.is_set()) == (False, False)
        next(outputs)
        assert wakeup.is_set()
        queue.end()
        assert list(outputs) == []
        assert queue.has_room

    def test_an_error_is_raised_after_the_outputs_before_it(self, queue: OutputQueue) -> None:
        queue.add([Task(1)], 10)
        queue.end(StageError("broken"))
        outputs = iter(queue)

        assert next(outputs).data == 1
        with pytest.raises(StageError, match="broken"):
            next(outputs)

    def test_the_consumer_waits_for_the_driver(self, queue: OutputQueue) -> None:
        consumed: list[object] = []
        consumer = threading.Thread(target=lambda: consumed.extend(task.data for task in queue))
        consumer.start()

        queue.add([Task(1)], 10)
        queue.end()
        consumer.join(60)

        assert consumed == [1]


class Twice(Tasks):
    def process(self, task: Task[Any]) -> list[Task[Any]]:
        return [Task(task.data), Task(-task.data)]


class Same(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class LocalResults(Results):
    """Takes final outputs as they are, without an object store."""

    def _fetch(self, blocks: list[FinalBlock]) -> list[Any]:
        return [block.ref for block in blocks]


def run_call(worker: StageWorker, tasks: list[AnyTask]) -> tuple[list[AnyTask], Any]:
    call = worker.call(tasks)
    outputs = list(call.outputs())
    return outputs, call.report


def test_a_source_is_done_when_all_calls_on_its_parts_are_consumed_and_reported() -> None:
    plan = Pipeline("p", stages=[Twice(), Same()]).build(tasks=[])
    run = ActiveRun(plan, TaskListing([Task(1)]), NoStore())
    queue = OutputQueue(threading.Event())
    results = LocalResults(run, queue)
    [source] = run.sources()
    keys = tuple(source.lineage)
    first, second = (StageWorker(plan, WorkerInfo("w"), [stage]) for stage in plan.stages)
    for worker in (first, second):
        worker.setup()

    parts, report = run_call(first, [source])
    results.report(report, keys)
    for part in parts:  # one call each, before anything is consumed
        outputs, report = run_call(second, [part])
        results.add_final(FinalBlock(outputs, 10, keys, report))
    results.settle()

    consumer = iter(queue)
    assert [next(consumer).data, next(consumer).data] == [1, -1]
    results.settle()
    assert (run.result.sources_done, results.is_empty) == (0, False)
    queue.end()
    assert list(consumer) == []
    results.settle()
    assert (run.result.sources_done, results.is_empty, results.consumed_bytes) == (1, True, 20)
    assert run.totals[1].tasks_in == 2
