"""Fused steps, and the deaths of workers that ran them."""

from collections.abc import Sequence

from curator_core import AnyStage, FusedStage, ProcessingStage, Task, WorkerInfo
from curator_core.execution.run_stages import StageRun, as_source, unchecked_plan
from curator_core.execution.worker import StageWorker
from curator_core.model.crash_attribution import Blame
from curator_core.model.metrics import MetricSummary


class Same(ProcessingStage[Task[int], Task[int]]):
    def __init__(self, name: str) -> None:
        self.name = name
        self.alone: list[int] = []

    def fuse_with(self, near: Sequence[AnyStage], later: Sequence[AnyStage]) -> "Both | None":
        return Both([self, *near[:1]]) if near else None

    def process(self, task: Task[int]) -> Task[int]:
        self.alone.append(task.data)
        return task


class Both(FusedStage):
    def process_members(self, task: Task[int]) -> list[object]:
        return [task, task]


def run(stages: Sequence[Same], blame: Blame, *numbers: int) -> StageRun:
    plan = unchecked_plan(stages, "quarantine")
    tasks = [as_source(Task(number), place) for place, number in enumerate(numbers or (7,))]
    call = StageWorker(plan, WorkerInfo()).call(tasks, blame)
    return StageRun(list(call.outputs()), call.report)


TASK_ID = as_source(Task(7), 0).task_id


def test_members_run_in_one_pass() -> None:
    first, second = Same("first"), Same("second")
    assert [task.data for task in run([first, second], Blame()).outputs] == [7]
    assert first.alone == second.alone == []


def test_after_a_death_in_the_pass_members_run_one_by_one() -> None:
    first, second, blame = Same("first"), Same("second"), Blame()
    blame.record_crash(0, [TASK_ID], "died")
    assert [task.data for task in run([first, second], blame).outputs] == [7]
    assert first.alone == second.alone == [7]


def test_a_death_in_the_pass_and_one_in_a_later_member_condemn_the_task() -> None:
    first, second, blame = Same("first"), Same("second"), Blame()
    blame.record_crash(0, [TASK_ID], "died in the pass")
    blame.record_crash(1, [TASK_ID], "died again")
    ran = run([first, second], blame)
    assert ran.outputs == []
    assert second.alone == []
    [record] = ran.report.quarantined
    assert record.stage == "second"
    assert record.reason.endswith("died again")


class BothLog(Both):
    def process_members(self, task: Task[int]) -> list[object] | None:
        for position, member in enumerate(self.members):
            member.log_metrics({"number": task.data + position})
        return None if task.data == 5 else [task, task]


class SameLogging(Same):
    def fuse_with(self, near: Sequence[AnyStage], later: Sequence[AnyStage]) -> "Both | None":
        return BothLog([self, *near[:1]]) if near else None

    def process(self, task: Task[int]) -> Task[int]:
        self.log_metrics({"number": 0})
        return task


def test_each_member_has_its_own_metrics() -> None:
    ran = run([SameLogging("first"), SameLogging("second")], Blame(), 7, 8)
    assert ran.report.of(0).metrics == {"number": MetricSummary(2, 15, 7, 8)}
    assert ran.report.of(1).metrics == {"number": MetricSummary(2, 17, 8, 9)}


def test_metrics_of_a_pass_that_gave_up_do_not_count() -> None:
    ran = run([SameLogging("first"), SameLogging("second")], Blame(), 5)
    for index in (0, 1):
        assert ran.report.of(index).metrics == {"number": MetricSummary(1, 0, 0, 0)}
