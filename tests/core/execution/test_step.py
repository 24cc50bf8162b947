"""Steps: retries, split batches, and checks of inputs and outputs."""

import os
import signal
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from curator_core import (
    DocumentBatch,
    Dropped,
    ErrorPolicy,
    FileGroup,
    Mixed,
    ProcessingStage,
    Rejected,
    StageError,
    Task,
)
from curator_core.execution.run_stages import StageRun, as_source, run_stages, unchecked_plan
from curator_core.execution.timeouts import AlarmTimer
from curator_core.execution.worker import StageWorker
from curator_core.model.crash_attribution import Blame
from curator_core.model.metrics import MetricSummary
from curator_core.model.records import QuarantineRecord
from curator_core.model.resources import WorkerInfo
from hypothesis import given
from hypothesis import strategies as st

Stage = ProcessingStage[Task[Any], Task[Any]]


def quarantining(stage: ProcessingStage[Any, Any], *tasks: Task[Any]) -> StageRun:
    return run_stages([stage], tasks, on_error="quarantine")


def data(ran: StageRun) -> list[Any]:
    return [task.data for task in ran.outputs]


def returning(result: Any) -> Stage:
    class Returns(ProcessingStage[Task[Any], Task[Any]]):
        def process(self, task: Task[Any]) -> Any:
            return result

    return Returns()


class Pixels:
    """Something large."""


class FailsFirst(Stage):
    """Fails `times` times for each task, then returns it."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.times = times
        self.error = error or ValueError("not yet")
        self.tries: dict[str, int] = {}

    def process(self, task: Task[Any]) -> Task[Any]:
        self.tries[task.task_id] = self.tries.get(task.task_id, 0) + 1
        if self.tries[task.task_id] <= self.times:
            raise self.error
        return task


class TestRetries:
    def test_are_counted_and_end_in_success(self) -> None:
        ran = quarantining(FailsFirst(2).with_(retries=2), Task("a"), Task("b"))

        assert data(ran) == ["a", "b"]
        assert (ran.counts.tasks_retried, ran.counts.tasks_in, ran.counts.tasks_failed) == (4, 2, 0)

    def test_end_in_quarantine_when_they_are_exhausted(self) -> None:
        ran = quarantining(FailsFirst(3).with_(retries=2), Task("a"))

        [record] = ran.report.quarantined
        assert record.attempts == 3
        assert record.reason.startswith("ValueError: not yet (test_step.py:")

    @pytest.mark.parametrize(
        ("error", "tries"),
        [(ConnectionError("gone"), 3), (FileNotFoundError("no such file"), 1), (KeyError("x"), 1)],
    )
    def test_only_temporary_errors_are_retried_by_default(
        self, error: Exception, tries: int
    ) -> None:
        stage = FailsFirst(99, error)
        quarantining(stage, Task("a"))

        assert list(stage.tries.values()) == [tries]

    def test_wait_twice_as_long_each_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        waits: list[float] = []
        monkeypatch.setattr("time.sleep", waits.append)
        plan = unchecked_plan([FailsFirst(3)], "fail")
        policy = ErrorPolicy("fail", retries=3, backoff_s=0.5)
        plan = replace(plan, steps=(replace(plan.stages[0], policy=policy),))

        list(StageWorker(plan, WorkerInfo()).call([as_source(Task("a"), 0)]).outputs())

        assert waits == [0.5, 1.0, 2.0]

    def test_of_a_generator_wait_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        waits: list[float] = []
        monkeypatch.setattr("time.sleep", waits.append)
        plan = unchecked_plan([BreaksOff(times=2)], "fail")
        policy = ErrorPolicy("fail", retries=2, backoff_s=0.5)
        plan = replace(plan, steps=(replace(plan.stages[0], policy=policy),))

        list(StageWorker(plan, WorkerInfo()).call([as_source(Task(0), 0)]).outputs())

        assert waits == [0.5, 1.0]

    def test_of_a_hanging_task_are_one(self) -> None:
        class Hangs(ProcessingStage[Task[Any], Task[Any]]):
            timeout_s = 0.03
            tries = 0

            def process(self, task: Task[Any]) -> Task[Any]:
                if task.data != "slow":
                    return task
                type(self).tries += 1
                import time

                time.sleep(10)
                return task

        assert AlarmTimer.works_here()
        ran = quarantining(Hangs(), Task("a"), Task("slow"), Task("b"))

        assert data(ran) == ["a", "b"]
        [record] = ran.report.quarantined
        assert "took longer than its timeout_s of 0.03 s" in record.reason
        assert (record.attempts, Hangs.tries) == (2, 2)


@dataclass
class BreaksOff(Stage):
    """Yields three outputs, and fails after the first two `times` times."""

    times: int
    tries: list[int] = field(default_factory=list)

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        self.tries.append(task.data)
        for position in range(3):
            if position == 2 and len(self.tries) <= self.times:
                raise ValueError("broke off")
            yield Task((task.data, position))


class TestGenerators:
    def test_that_fail_continue_after_their_earlier_outputs(self) -> None:
        ran = quarantining(BreaksOff(times=1).with_(retries=1), Task(7))

        assert data(ran) == [(7, 0), (7, 1), (7, 2)]
        assert len({task.task_id for task in ran.outputs}) == 3
        assert (ran.counts.tasks_retried, ran.counts.tasks_passed) == (1, 1)

    def test_failed_generators_keep_earlier_outputs(self) -> None:
        ran = quarantining(BreaksOff(times=9), Task(7))

        assert data(ran) == [(7, 0), (7, 1)]
        [record] = ran.report.quarantined
        assert record.passed == 2
        assert record.reason.startswith("ValueError: broke off (test_step.py:")
        assert (ran.counts.tasks_in, ran.counts.tasks_failed, ran.counts.tasks_passed) == (1, 1, 0)

    def test_yield_the_same_ids_with_and_without_a_retry(self) -> None:
        smooth = quarantining(BreaksOff(times=0), Task(7)).outputs
        bumpy = quarantining(BreaksOff(times=1).with_(retries=1), Task(7)).outputs

        assert [t.task_id for t in bumpy] == [t.task_id for t in smooth]

    def test_may_yield_nothing(self) -> None:
        ran = quarantining(returning(iter(())), Task(1))

        assert data(ran) == []
        assert (ran.counts.tasks_dropped, ran.counts.items_dropped) == (1, 1)

    def test_without_records_have_dropped_nothing(self) -> None:
        class Read(ProcessingStage[FileGroup, DocumentBatch]):
            def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
                yield from ()

        ran = quarantining(Read(), FileGroup.of(["empty.jsonl"]))

        assert (ran.counts.tasks_dropped, ran.counts.items_dropped) == (1, 0)
        assert sum(ran.report.spent.values()) == 1

    def test_may_report_dropped_records(self) -> None:
        notes = iter([Dropped("short", 2), Task(1), Rejected("torn", "line 3")])
        ran = quarantining(returning(notes), Task(0))

        assert data(ran) == [1]
        assert ran.counts.reasons == {"short": 2}
        [record] = ran.report.quarantined
        assert (record.reason, record.where, record.whole_task) == ("torn", "line 3", False)


class AllBut(ProcessingStage[Task[int], Task[int]]):
    """Fails on batches that contain one of the bad tasks."""

    def __init__(self, bad: set[int], mixed: bool = False) -> None:
        self.bad = bad
        self.mixed = mixed
        self.calls: list[list[int]] = []

    def process_batch(self, tasks: Sequence[Task[int]]) -> Any:
        numbers = [task.data for task in tasks]
        self.calls.append(numbers)
        if self.bad.intersection(numbers):
            raise ValueError(f"bad: {sorted(self.bad.intersection(numbers))}")
        return Mixed([Task(sum(numbers))]) if self.mixed else list(tasks)


class TestBatches:
    @given(st.sets(st.integers(0, 11)), st.integers(1, 13), st.booleans())
    def test_are_split_until_only_the_bad_tasks_fail(
        self, bad: set[int], size: int, mixed: bool
    ) -> None:
        tasks = [Task(number) for number in range(12)]
        ran = quarantining(AllBut(bad, mixed).with_(batch_size=size), *tasks)

        good = set(range(12)) - bad
        assert {record.reason.partition(" (")[0] for record in ran.report.quarantined} == {
            f"ValueError: bad: [{number}]" for number in bad
        }
        if mixed:
            assert sum(data(ran)) == sum(good)
        else:
            assert set(data(ran)) == good
        assert (ran.counts.tasks_failed, ran.counts.tasks_passed) == (len(bad), len(good))

    def test_may_be_smaller_than_the_batch_size(self) -> None:
        stage = AllBut(set()).with_(batch_size=5)
        quarantining(stage, *[Task(number) for number in range(12)])

        assert [len(call) for call in stage.calls] == [5, 5, 2]

    def test_that_fail_free_their_memory_before_tasks_run_alone(self) -> None:
        """The memory of a batch that failed must be free when its tasks run one by one."""
        held: list[weakref.ref[Any]] = []

        class Tensor:
            """Objects that a stage holds while it works."""

        class Devours(AllBut):
            def process_batch(self, tasks: Sequence[Task[int]]) -> Any:
                assert all(tensor() is None for tensor in held)
                mine = Tensor()
                held.append(weakref.ref(mine))
                return super().process_batch(tasks)

        ran = quarantining(Devours({1}).with_(batch_size=3), *[Task(n) for n in range(3)])

        [record] = ran.report.quarantined
        assert record.reason.startswith("ValueError: bad: [1] (")

    @pytest.mark.parametrize("batch_size", [1, 2])
    def test_the_input_of_a_stage_is_freed_before_the_next_one_runs(self, batch_size: int) -> None:
        """Otherwise each stage of a long pipeline would keep a version of the data in memory."""
        held: list[weakref.ref[Any]] = []

        class Remakes(AllBut):
            def process_batch(self, tasks: Sequence[Task[Any]]) -> Any:
                made = [Pixels() for _ in tasks]
                held.extend(weakref.ref(one) for one in made)
                return [task.with_data(one) for task, one in zip(tasks, made, strict=True)]

        class Looks(Stage):
            def process(self, task: Task[Any]) -> Task[Any]:
                alive = [one for one in held if one() is not None]
                counts.append(len(alive))
                return task.with_data(None)

        counts: list[int] = []
        remakes = [Remakes(set()).with_(batch_size=batch_size, name=f"remakes{n}") for n in "ab"]
        run_stages([*remakes, Looks()], [Task(number) for number in range(4)])
        assert max(counts) == 2 * batch_size - 1  # of a batch, those whose turn is to come

    def test_that_fail_are_counted_once(self) -> None:
        ran = quarantining(AllBut({1}).with_(batch_size=3), Task(0), Task(1), Task(2))

        assert (ran.counts.tasks_in, ran.counts.tasks_passed, ran.counts.tasks_retried) == (3, 2, 3)

    def test_mixed_of_nothing_drop_their_tasks(self) -> None:
        class Swallows(AllBut):
            def process_batch(self, tasks: Sequence[Task[int]]) -> Any:
                return Mixed([Dropped("all the same", 2)])

        ran = quarantining(Swallows(set()).with_(batch_size=3), Task(1), Task(2), Task(3))

        assert ran.counts.tasks_dropped == 3
        assert ran.counts.reasons == {"all the same": 2, "dropped": 1}

    def test_with_the_wrong_number_of_results_are_refused(self) -> None:
        class Loses(AllBut):
            def process_batch(self, tasks: Sequence[Task[int]]) -> Any:
                return [] if len(tasks) == 1 else list(tasks[1:])

        with pytest.raises(
            StageError,
            match=r"process_batch of stage 'loses' got 1 tasks and returned 0 results; return one",
        ):
            run_stages([Loses(set()).with_(batch_size=2)], [Task(1), Task(2)])

    def test_of_a_stage_without_process_batch_are_single_tasks(self) -> None:
        ran = quarantining(FailsFirst(0).with_(batch_size=3), Task(1), Task(2))

        assert data(ran) == [1, 2]


class TestBlame:
    def quarantine_reason(self, stage: AllBut, blame: Blame, count: int = 4) -> StageRun:
        plan = unchecked_plan([stage.with_(batch_size=count)], "quarantine")
        tasks = [as_source(Task(number), number) for number in range(count)]
        call = StageWorker(plan, WorkerInfo()).call(tasks, blame)
        return StageRun(list(call.outputs()), call.report)

    def ids(self, *numbers: int) -> list[str]:
        return [as_source(Task(number), number).task_id for number in numbers]

    def test_runs_a_suspected_batch_one_by_one(self) -> None:
        stage, blame = AllBut(set()), Blame()
        blame.record_crash(0, self.ids(0, 1, 2, 3), "died")

        assert data(self.quarantine_reason(stage, blame)) == [0, 1, 2, 3]
        assert stage.calls == [[0], [1], [2], [3]]

    def test_never_calls_the_stage_with_a_condemned_task(self) -> None:
        stage, blame = AllBut(set()), Blame()
        for _ in range(2):
            blame.record_crash(0, self.ids(2), "its worker was killed by SIGKILL")

        ran = self.quarantine_reason(stage, blame)

        assert data(ran) == [0, 1, 3]
        assert [2] not in stage.calls
        [record] = ran.report.quarantined
        assert (record.attempts, record.task_id) == (2, self.ids(2)[0])
        assert record.reason.endswith("its worker was killed by SIGKILL")

    def test_does_not_condemn_a_whole_batch_for_one_death(self) -> None:
        blame = Blame()
        for _ in range(5):
            blame.record_crash(0, self.ids(0, 1), "died")

        assert data(self.quarantine_reason(AllBut(set()), blame)) == [0, 1, 2, 3]

    def test_keeps_stages_apart(self) -> None:
        blame = Blame()
        for _ in range(2):
            blame.record_crash(1, self.ids(0), "died")

        assert blame.quarantine_reason(0, as_source(Task(0), 0), 0) is None
        assert blame.quarantine_reason(1, as_source(Task(0), 0), 1) == "died"

    def test_suspects_a_whole_stage_if_its_batch_was_too_large_to_record(self) -> None:
        stage, blame = AllBut(set()), Blame()
        blame.suspect_all(0)
        self.quarantine_reason(stage, blame)

        assert [len(call) for call in stage.calls] == [1, 1, 1, 1]


class TestPolicies:
    def test_fail_names_stage_task_and_cause(self) -> None:
        with pytest.raises(StageError, match="stage 'fails_first' failed: ValueError: not y") as at:
            run_stages([FailsFirst(9)], [Task("a")], on_error="fail")

        assert at.value.stage == "fails_first"
        assert at.value.task_id == as_source(Task("a"), 0).task_id
        assert "raise self.error" in at.value.detail
        assert "curator_core" not in at.value.detail

    def test_quarantine_stores_the_whole_task(self) -> None:
        ran = quarantining(FailsFirst(9), Task("a", "web", {"page": 1}))

        [record] = ran.report.quarantined
        source = as_source(Task("a"), 0).task_id
        assert isinstance(record, QuarantineRecord)
        assert (record.task_id, record.source_id, record.stage_index) == (source, source, 0)
        assert record.stage == "fails_first"
        assert record.reason.startswith("ValueError: not yet (test_step.py:")
        assert record.detail.endswith("ValueError: not yet")
        assert record.payload is not None
        assert Task.from_payload(record.payload) == Task("a", "web", {"page": 1})

    def test_quarantine_omits_a_payload_that_cannot_be_stored(self) -> None:
        [record] = quarantining(FailsFirst(9), Task({1, 2})).report.quarantined

        assert record.payload is None

    def test_hold_for_a_stage_that_ends_its_process(self) -> None:
        class Exits(ProcessingStage[Task[Any], Task[Any]]):
            def process(self, task: Task[Any]) -> Task[Any]:
                return sys.exit(0) if task.data == "b" else task

        ran = quarantining(Exits(), Task("a"), Task("b"), Task("c"))

        assert data(ran) == ["a", "c"]
        assert ran.report.quarantined[0].reason.endswith("the stage called sys.exit(0)")

    def test_hold_for_a_stage_that_interrupts_itself(self) -> None:
        """In a worker process, where SIGINT is ignored."""

        class Interrupts(ProcessingStage[Task[Any], Task[Any]]):
            def process(self, task: Task[Any]) -> Task[Any]:
                if task.data == "b":
                    raise KeyboardInterrupt
                return task

        def ran() -> Any:
            return quarantining(Interrupts(), Task("a"), Task("b"), Task("c"))

        with pytest.raises(KeyboardInterrupt):
            ran()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            found = ran()
        finally:
            signal.signal(signal.SIGINT, before)
        assert data(found) == ["a", "c"]
        assert found.report.quarantined[0].reason.endswith("the stage raised KeyboardInterrupt")

    def test_hold_for_a_forked_process_that_leaves_the_stage(self) -> None:
        class Forks(ProcessingStage[Task[Any], Task[Any]]):
            def process(self, task: Task[Any]) -> Task[Any]:
                if task.data != "plain" and os.fork() != 0:
                    assert os.waitstatus_to_exitcode(os.wait()[1]) == 1
                elif task.data == "raises":
                    raise ValueError
                return task

        ran = quarantining(Forks(), Task("plain"), Task("returns"), Task("raises"))

        assert data(ran) == ["plain"]
        reasons = [record.reason for record in ran.report.quarantined]
        assert ["returned" in reasons[0], "ValueError" in reasons[1]] == [True, True]

    def test_skip_counts_and_stores_nothing(self) -> None:
        ran = run_stages([FailsFirst(9)], [Task("a")], on_error="skip")

        assert (ran.report.quarantined, ran.counts.tasks_failed) == ([], 1)
        assert list(ran.report.lost.values()) == [Fraction(1, 2)]  # half stays with the call

    def test_rejected_records_fail_a_run_with_on_error_fail(self) -> None:
        with pytest.raises(StageError, match="stage 'returns' failed: line 3: torn"):
            run_stages([returning([Task(1), Rejected("torn", "line 3")])], [Task(0)])

    def test_rejected_records_leave_their_task_alone(self) -> None:
        ran = quarantining(returning([Task(1), Rejected("torn", "line 3", 2, b"{")]), Task(0))

        [record] = ran.report.quarantined
        assert data(ran) == [1]
        assert (record.where, record.items, record.payload) == ("line 3", 2, b"{")
        assert (ran.counts.items_rejected, ran.counts.tasks_passed, ran.counts.failures) == (
            2,
            1,
            2,
        )
        assert sum(ran.report.lost.values()) == 0


class Reads(ProcessingStage[DocumentBatch, DocumentBatch]):
    def inputs(self) -> list[str]:
        return ["text", "language"]

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task


class TestInputs:
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (["text", "langauge"], r"no column 'language' \(did you mean langauge\?\)"),
            (["txt", "language"], r"no column 'text' \(did you mean txt\?\)"),
            (["a", "b"], r"no column 'text' \(known: a, b\)"),
            ([], r"no column 'text' \(none is known\)"),
        ],
    )
    def test_name_the_column_that_is_missing_and_the_nearest(
        self, columns: list[str], message: str
    ) -> None:
        batch = DocumentBatch(pa.table({name: ["x"] for name in columns}))

        with pytest.raises(StageError, match=f"stage 'reads' failed: .*{message}"):
            run_stages([Reads()], [batch])

    def test_of_the_wrong_type_are_refused(self) -> None:
        with pytest.raises(StageError, match="it takes DocumentBatch, but was given FileGroup"):
            run_stages([Reads()], [FileGroup.of(["a"])])


class TestOutputs:
    @pytest.mark.parametrize(
        ("result", "message"),
        [
            ("text", "stage 'returns' returned a str; it may return a task, a list or generator"),
            ([1], "stage 'returns' returned a int"),
            ({"a": 1}, "stage 'returns' returned a dict"),
            (iter(["a"]), "stage 'returns' returned a str"),
            (pa.table({"a": [1]}), "stage 'returns' returned a Table"),
        ],
    )
    def test_that_are_not_tasks_are_refused(self, result: Any, message: str) -> None:
        with pytest.raises(StageError, match=message):
            run_stages([returning(result)], [Task(1)])

    def test_inherit_name_and_metadata(self) -> None:
        class Renames(ProcessingStage[Task[Any], Task[Any]]):
            def process(self, task: Task[Any]) -> list[Task[Any]]:
                return [Task(1, "mine", {"page": 2}), Task(2)]

        first, second = run_stages([Renames()], [Task(0, "web", {"page": 1, "host": "h"})]).outputs

        assert (first.dataset_name, first.metadata) == ("mine", {"page": 2, "host": "h"})
        assert (second.dataset_name, second.metadata) == ("web", {"page": 1, "host": "h"})

    def test_carry_the_time_of_every_stage(self) -> None:
        [output] = run_stages(
            [FailsFirst(0).with_(name="a"), returning(Task(1)).with_(name="b")], [Task(0)]
        ).outputs

        assert set(output.timings) == {"a", "b"}

    def test_that_shrink_without_a_reason_are_counted(self) -> None:
        class Halves(Reads):
            def process(self, task: DocumentBatch) -> DocumentBatch:
                return task.with_data(task.data.slice(0, 2))

        rows = [{"text": "a", "language": "de"}] * 5
        ran = quarantining(Halves(), DocumentBatch.from_pylist(rows))

        assert ran.counts.reasons == {"not passed on": 3}
        assert (ran.counts.items_in, ran.counts.items_out, ran.counts.items_dropped) == (5, 2, 3)

    def test_that_shrink_with_a_reason_are_counted_once(self) -> None:
        class Halves(Reads):
            def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
                return task.keep([True, True, False, False, False], "odd")

        rows = [{"text": "a", "language": "de"}] * 5
        ran = quarantining(Halves(), DocumentBatch.from_pylist(rows))

        assert ran.counts.reasons == {"odd": 3}

    def test_without_items_go_no_further(self) -> None:
        ran = run_stages(
            [returning(DocumentBatch(pa.table({"text": pa.array([], pa.string())}))), Reads()],
            [Task(0)],
        )

        assert (ran.outputs, ran.report.of(1).tasks_in, ran.counts.tasks_dropped) == ([], 0, 1)
        assert sum(ran.report.spent.values()) == 1

    def test_with_a_payload_that_cannot_be_counted_fail_their_task(self) -> None:
        bad = returning(DocumentBatch({"text": ["a"]}))  # type: ignore[arg-type]

        ran = quarantining(bad, Task(1))

        [record] = ran.report.quarantined
        assert record.reason.startswith(
            "stage 'returns' returned a DocumentBatch around a dict, which cannot be counted: Attr"
        )


class OutOfMemoryError(RuntimeError):
    """torch's error has this name."""


class Devours(Stage):
    """Runs out of memory `times` times for one task; records its calls and what stays alive."""

    batch_size = 4

    def __init__(self, times: int) -> None:
        self.times = times
        self.sizes: list[int] = []
        self.held: list[weakref.ref[Any]] = []
        self.stayed: list[bool] = []

    def process_batch(self, tasks: Sequence[Task[Any]]) -> list[Task[Any]]:
        self.stayed += [held() is not None for held in self.held]
        if any(task.data == "large" for task in tasks) and self.times:
            self.times -= 1
            self.sizes.append(len(tasks))
            tensor = Task("as if it lay on a GPU")
            self.held.append(weakref.ref(tensor))
            raise OutOfMemoryError("CUDA out of memory")
        return list(tasks)


class TestOutOfMemory:
    def test_a_temporary_one_costs_nothing(self) -> None:
        stage = Devours(2)
        ran = quarantining(stage, *map(Task, ["a", "large", "b", "c"]))
        assert data(ran) == ["a", "large", "b", "c"]
        assert stage.sizes == [4, 1]
        assert not any(stage.stayed)

    def test_a_permanent_one_is_quarantined_after_one_retry_alone(self) -> None:
        stage = Devours(9)
        ran = quarantining(stage, *map(Task, ["a", "large", "b", "c"]))
        assert data(ran) == ["a", "b", "c"]
        assert stage.sizes == [4, 1, 1]
        [record] = ran.report.quarantined
        assert record.reason.startswith("OutOfMemoryError: CUDA out of memory (")
        assert record.attempts == 2

    def test_a_generator_resumes_where_it_ran_out_of_memory(self) -> None:
        class Gives(Stage):
            times = 1

            def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
                yield Task(1)
                if self.times:
                    self.times -= 1
                    raise OutOfMemoryError("CUDA out of memory")
                yield Task(2)

        assert data(quarantining(Gives(), Task("x"))) == [1, 2]


class Logs(Stage):
    """Logs each number, before it fails if it is at `fails` for the first time."""

    def __init__(self, *fails: int) -> None:
        self.fails = set(fails)

    def log(self, number: int) -> None:
        self.log_metrics({"number": number})
        if number in self.fails:
            self.fails.remove(number)
            raise ValueError("not yet")

    def process(self, task: Task[Any]) -> Any:
        self.log(task.data)
        return task


class LogsInBatches(Logs):
    batch_size = 4

    def process_batch(self, tasks: Sequence[Task[Any]]) -> list[Any]:
        return [self.process(task) for task in tasks]


class LogsEach(Logs):
    """Yields the numbers below, and logs one more at its beginning and at its end."""

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        self.log(100)
        for number in range(task.data):
            self.log(number)
            yield Task(number)
        self.log(200)


class TestMetrics:
    @pytest.mark.parametrize("stage", [Logs(), Logs(2, 3), LogsInBatches(), LogsInBatches(3)])
    def test_count_the_attempts_that_succeed(self, stage: Logs) -> None:
        ran = quarantining(stage.with_(retries=1), *map(Task, range(10)))

        assert ran.counts.metrics == {"number": MetricSummary(10, 45, 0, 9)}

    def test_of_failed_tasks_do_not_count(self) -> None:
        ran = quarantining(Logs(9, 8), *map(Task, range(10)))

        assert ran.counts.metrics == {"number": MetricSummary(8, 28, 0, 7)}

    @pytest.mark.parametrize("fails", [(), (0,), (2,), (2, 200), (100, 0, 1, 2, 200)])
    def test_of_a_generator_count_once_however_often_it_starts(self, fails: Any) -> None:
        ran = quarantining(LogsEach(*fails).with_(retries=5), Task(3))

        assert ran.counts.metrics == {"number": MetricSummary(5, 303, 0, 200)}

    def test_belong_to_the_source_of_the_task(self) -> None:
        ran = quarantining(Logs(), Task(1), Task(2))

        sums = [part.of(0).metrics["number"].sum for part in ran.report.parts.values()]
        assert sums == [1, 2]

    def test_a_bad_one_fails_its_task(self) -> None:
        ran = quarantining(Logs(), Task(float("nan")), Task(1))

        [record] = ran.report.quarantined
        assert "finite" in record.reason
        assert ran.counts.metrics["number"].count == 1

    def test_of_a_stage_without_a_worker_are_checked(self) -> None:
        assert Logs().process(Task(1)).data == 1
        with pytest.raises(ValueError, match="finite"):
            Logs().process(Task(float("inf")))
