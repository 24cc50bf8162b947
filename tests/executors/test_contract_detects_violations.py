"""The contract detects violations: executors that break a promise do not pass it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import CuratorError, Executor, WorkerInfo
from curator_core.execution.worker import StageWorker
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan
from curator_core.run.run import ActiveRun
from curator_core.testing import ExecutorContract


class Honest(Executor):
    """The smallest executor: each source in turn, here."""

    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
        worker = StageWorker(plan, WorkerInfo("0", run_token=run.token), run.worker_stages)
        self.prepare(worker)
        try:
            for source in run.sources():
                yield from self.work(worker, run, source)
        finally:
            self.end(worker)

    def prepare(self, worker: StageWorker) -> None:
        worker.setup_on_node()
        worker.setup()

    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        call = worker.call([source], run.blame(source))
        for output in call.outputs():
            yield from run.add_output(output)
        yield from run.apply_report(call.report, [source])

    def end(self, worker: StageWorker) -> None:
        worker.teardown()


class ForgetsTheNode(Honest):
    def prepare(self, worker: StageWorker) -> None:
        worker.setup()


class PreparesTwice(Honest):
    def prepare(self, worker: StageWorker) -> None:
        worker.setup_on_node()
        super().prepare(worker)


class NeverTearsDown(Honest):
    def end(self, worker: StageWorker) -> None:
        pass


class SetsUpForEverySource(Honest):
    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        worker.setup()
        yield from super().work(worker, run, source)
        worker.teardown()


class GivesAllAtTheEnd(Honest):
    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
        yield from list(super().execute(plan, run))


class LosesASource(Honest):
    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        if source.data != 3:
            yield from super().work(worker, run, source)


class LosesAnOutput(Honest):
    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        yield from list(super().work(worker, run, source))[:-1]


class GivesTwice(Honest):
    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        for output in super().work(worker, run, source):
            yield output
            yield output


class NamesTasksItself(Honest):
    count = 0

    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        for output in super().work(worker, run, source):
            type(self).count += 1
            output.task_id = str(self.count)
            yield output


class HidesFailures(Honest):
    def work(self, worker: StageWorker, run: ActiveRun, source: AnyTask) -> Iterator[AnyTask]:
        try:
            yield from super().work(worker, run, source)
        except CuratorError:
            return


def contract_for(executor: type[Executor]) -> ExecutorContract:
    class Held(ExecutorContract):
        patience_s = 0.3

        def make_executor(self) -> Executor:
            return executor()

    return Held()


GUILTY: list[tuple[type[Executor], str, str]] = [
    (ForgetsTheNode, "test_after_success", "set up before its node was prepared"),
    (PreparesTwice, "test_after_success", "a node was prepared more than once"),
    (NeverTearsDown, "test_after_success", "was set up and never torn down"),
    (NeverTearsDown, "test_after_a_failure", "was set up and never torn down"),
    (NeverTearsDown, "test_a_reader_that_leaves_stops_the_work", "never torn down"),
    (SetsUpForEverySource, "test_after_success", "was set up more than once"),
    (
        GivesAllAtTheEnd,
        "test_the_first_output_comes_while_others_are_still_at_work",
        "the first output did not arrive",
    ),
    (LosesASource, "test_every_task_passes_every_stage", "the executor lost 1 of the sources"),
    (LosesAnOutput, "test_every_task_passes_every_stage", "assert"),
    (GivesTwice, "test_every_task_passes_every_stage", "assert"),
    (GivesTwice, "test_ids_are_the_same_in_every_run", "assert"),
    (NamesTasksItself, "test_ids_are_the_same_in_every_run", "assert"),
    (NamesTasksItself, "test_ids_follow_from_the_source_and_the_position", "assert"),
    (
        HidesFailures,
        "test_a_failure_ends_the_run_if_the_policy_says_so",
        "executor lost 1 of the sour",
    ),
]


class TestContract:
    @pytest.mark.parametrize(("executor", "test", "told"), GUILTY)
    def test_does_not_let_it_pass(
        self, executor: type[Executor], test: str, told: str, tmp_path: Path
    ) -> None:
        with pytest.raises((AssertionError, CuratorError, pytest.fail.Exception), match=told):
            held(contract_for(executor), test, tmp_path)

    @pytest.mark.parametrize("test", sorted({test for _, test, _ in GUILTY}))
    def test_lets_the_honest_pass(self, test: str, tmp_path: Path) -> None:
        held(contract_for(Honest), test, tmp_path)


def held(contract: ExecutorContract, test: str, tmp_path: Path) -> Any:
    method = getattr(contract, test)
    return method(tmp_path) if "tmp_path" in method.__func__.__annotations__ else method()
