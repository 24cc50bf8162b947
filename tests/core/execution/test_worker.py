"""Workers: credit, ids and counts are exact, whatever stages do."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from curator_core import (
    Dropped,
    Mixed,
    ProcessingStage,
    Rejected,
    StageError,
    Task,
    WorkerInfo,
)
from curator_core.execution.run_stages import (
    StageRun,
    as_source,
    run_in_worker,
    run_stages,
    unchecked_plan,
)
from curator_core.execution.worker import StageWorker
from curator_core.local.shared_status import SharedStatus
from curator_core.model.lineage import add_credits
from curator_core.model.stages import DropSink
from curator_core.model.tasks import AnyTask, StagedFile
from hypothesis import given, settings
from hypothesis import strategies as st


@dataclass
class Number(Task[int]):
    """A negative number has no items."""

    @property
    def num_items(self) -> int:
        return int(self.data >= 0)


def made(task: Number, position: int) -> Number:
    return Number((task.data * 31 + position * 7 + 1) % 97)


def several(task: Number, count: int) -> Iterator[Number]:
    for position in range(count):
        yield made(task, position)


def breaking_off(task: Number, count: int) -> Iterator[Number]:
    yield from several(task, count)
    raise ValueError(f"number {task.data} broke off after {count}")


def failing(task: Number, count: int) -> Any:
    raise ValueError(f"number {task.data} is bad")


Action: TypeAlias = tuple[str, int]

ACTIONS: dict[str, Callable[[Number, int], Any]] = {
    "itself": lambda task, n: task,
    "another": made,
    "list": lambda task, n: list(several(task, n)),
    "itself twice": lambda task, n: [task, task],
    "generator": several,
    "nothing": lambda task, n: None,
    "dropped": lambda task, n: Dropped("unwanted"),
    "some dropped": lambda task, n: [Dropped("unwanted"), *several(task, n), Rejected("torn")],
    "hollow": lambda task, n: Number(-1),
    "partly hollow": lambda task, n: [Number(-1), made(task, 0)],
    "hollow generator": lambda task, n: iter([Number(-1)] * n),
    "fails": failing,
    "breaks off": breaking_off,
}


@dataclass
class Scripted(ProcessingStage[Number, Number]):
    """Does with each number what its script says; fails the first time if the script says so."""

    script: list[Action]
    flaky: bool = False
    failed: set[str] = field(default_factory=set, repr=False)

    def process(self, task: Number) -> Any:
        name, count = self.script[task.data % len(self.script)]
        if self.flaky and task.data % 3 == 0 and task.task_id not in self.failed:
            self.failed.add(task.task_id)
            return breaking_off(task, count) if name == "generator" else failing(task, count)
        return ACTIONS[name](task, count)


class ScriptedBatches(Scripted):
    def process_batch(self, tasks: Sequence[Number]) -> list[Any]:
        return [self.process(task) for task in tasks]


@dataclass
class Mixing(ProcessingStage[Number, Number]):
    """Turns many numbers into a few, and fails if one of them is bad."""

    gives_back: int = 1

    def process_batch(self, tasks: Sequence[Number]) -> Mixed[Number]:
        if any(task.data % 11 == 0 for task in tasks):
            raise ValueError("one of them is bad")
        total = sum(task.data for task in tasks)
        return Mixed(several(Number(total), self.gives_back))


actions = st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 3))
scripts = st.lists(actions, min_size=1, max_size=4)
stages = st.one_of(
    st.builds(Scripted, scripts, st.booleans()),
    st.builds(ScriptedBatches, scripts, st.booleans()),
    st.builds(Mixing, st.integers(0, 3)),
)
settled = st.tuples(stages, st.integers(1, 4), st.sampled_from([None, 0, 1])).map(
    lambda s: s[0].with_(batch_size=s[1], retries=s[2])
)
lines = st.lists(settled, min_size=1, max_size=4)


def fresh(line: list[Any]) -> list[Any]:
    """The stages without the state of an earlier run."""
    changed = [stage.with_(name=f"{stage.name}_{i}") for i, stage in enumerate(line)]
    for stage in changed:
        if isinstance(stage, Scripted):
            stage.failed = set()
    return changed


def total_credit(ran: StageRun) -> dict[str, object]:
    lineages = [task.lineage for task in ran.outputs] + [ran.report.spent, ran.report.lost]
    return {source: credit for (source, _), credit in add_credits(lineages).items()}


class TestAccounts:
    @settings(max_examples=300, deadline=None)
    @given(lines, st.lists(st.integers(0, 96), min_size=1, max_size=5))
    def test_credit_is_conserved(self, line: list[Any], numbers: list[int]) -> None:
        ran = run_stages(fresh(line), [Number(n) for n in numbers], on_error="quarantine")

        assert list(total_credit(ran).values()) == [1] * len(numbers)

    @settings(max_examples=150, deadline=None)
    @given(lines, st.lists(st.integers(0, 96), min_size=1, max_size=5))
    def test_ids_are_unique_and_deterministic(self, line: list[Any], numbers: list[int]) -> None:
        def ran() -> list[tuple[str, int]]:
            tasks = [Number(n) for n in numbers]
            outputs = run_stages(fresh(line), tasks, on_error="skip").outputs
            return [(task.task_id, task.data) for task in outputs]

        first = ran()

        assert len({task_id for task_id, _ in first}) == len(first)
        assert ran() == first

    @settings(max_examples=150, deadline=None)
    @given(
        lines,
        st.lists(st.integers(0, 96), min_size=1, max_size=5),
        st.sampled_from(["quarantine", "skip"]),
    )
    def test_every_stage_balances(self, line: list[Any], numbers: list[int], on_error: Any) -> None:
        ran = run_stages(fresh(line), [Number(n) for n in numbers], on_error=on_error)
        counts = [ran.report.of(index) for index in range(len(line))]

        assert all(one.is_balanced for one in counts), counts
        assert counts[0].tasks_in == len(numbers)
        assert counts[-1].tasks_out == len(ran.outputs)
        for before, after in pairwise(counts):
            assert before.tasks_out == after.tasks_in
        whole = [record for record in ran.report.quarantined if record.whole_task]
        failed = sum(one.tasks_failed for one in counts)
        assert len(whole) == (failed if on_error == "quarantine" else 0)
        assert bool(failed) == bool(ran.report.lost)

    def test_one_object_returned_for_many_tasks_stays_many_tasks(self) -> None:
        class Same(ProcessingStage[Number, Number]):
            always = Number(5)

            def process(self, task: Number) -> Number:
                return self.always

        ran = run_stages([Same()], [Number(n) for n in range(3)])

        assert len({task.task_id for task in ran.outputs}) == 3
        assert list(total_credit(ran).values()) == [1, 1, 1]

    def test_outputs_in_another_order_keep_their_credit(self) -> None:
        class Swaps(ProcessingStage[Number, Number]):
            batch_size = 2

            def process_batch(self, tasks: Sequence[Number]) -> list[Number]:
                return list(reversed(tasks))

        ran = run_stages([Swaps()], [Number(1), Number(2)])

        assert len({task.task_id for task in ran.outputs}) == 2
        assert list(total_credit(ran).values()) == [1, 1]


class Recorder(ProcessingStage[Number, Number]):
    def __init__(self, name: str, calls: list[str], broken: str = "") -> None:
        self.name = name
        self.calls = calls
        self.broken = broken

    def note(self, event: str) -> None:
        self.calls.append(f"{event} {self.name}")
        if self.broken == event:
            raise RuntimeError(f"{event} of {self.name} failed")

    def setup_on_node(self, node: object) -> None:
        self.note("node")

    def setup(self, worker: WorkerInfo) -> None:
        self.note("setup")

    def process(self, task: Number) -> Number:
        return task

    def teardown(self) -> None:
        self.note("teardown")


def worker_of(*line: ProcessingStage[Any, Any]) -> StageWorker:
    return StageWorker(unchecked_plan(line, "fail"), WorkerInfo())


class TestLife:
    def test_sets_up_in_order_and_tears_down_backwards(self) -> None:
        calls: list[str] = []
        worker = worker_of(Recorder("a", calls), Recorder("b", calls))

        worker.setup_on_node()
        worker.setup()
        worker.teardown()

        assert calls == ["node a", "node b", "setup a", "setup b", "teardown b", "teardown a"]

    def test_repeated_calls_set_up_and_tear_down_once(self) -> None:
        calls: list[str] = []
        worker = worker_of(Recorder("a", calls))

        for step in (worker.setup, worker.setup, worker.teardown, worker.teardown):
            step()

        assert calls == ["setup a", "teardown a"]

    def test_tears_down_only_stages_that_were_set_up(self) -> None:
        calls: list[str] = []
        worker = worker_of(Recorder("a", calls), Recorder("b", calls, "setup"))

        with pytest.raises(StageError, match="stage 'b' could not be set up: RuntimeError: setup"):
            worker.setup()
        worker.teardown()

        assert calls == ["setup a", "setup b", "teardown a"]

    def test_a_failed_setup_ends_the_watch(self) -> None:
        board = SharedStatus.create()
        plan = unchecked_plan([Recorder("a", [], "setup")], "fail")
        worker = StageWorker(plan, WorkerInfo(), watch=board)

        with pytest.raises(StageError, match="stage 'a' could not be set up"):
            worker.setup()

        assert board.note() is None
        board.close()

    def test_tears_down_the_others_though_one_fails(self, caplog: Any) -> None:
        calls: list[str] = []
        worker = worker_of(Recorder("a", calls), Recorder("b", calls, "teardown"))
        worker.setup()

        worker.teardown()

        assert calls[-2:] == ["teardown b", "teardown a"]
        assert "stage 'b': teardown failed: RuntimeError: teardown of b failed" in caplog.text

    def test_survives_a_stage_that_exits_while_it_is_set_up_or_torn_down(self, caplog: Any) -> None:
        class Exits(Recorder):
            def setup(self, worker: WorkerInfo) -> None:
                if self.broken == "setup":
                    sys.exit(3)

            def teardown(self) -> None:
                sys.exit(4)

        with pytest.raises(StageError, match=r"stage 'a' could not be set up: .*sys.exit\(3\)"):
            worker_of(Exits("a", [], "setup")).setup()
        worker = worker_of(Exits("a", []))
        worker.setup()
        worker.teardown()
        assert "stage 'a': teardown failed: the stage called sys.exit(4)" in caplog.text

    @pytest.mark.parametrize("event", ["node", "setup", "teardown"])
    def test_metrics_are_only_logged_with_tasks(self, event: str, caplog: Any) -> None:
        class Logs(Recorder):
            def note(self, event: str) -> None:
                if event == self.broken:
                    self.log_metrics({"loaded": 1})

            def process(self, task: Number) -> Number:
                self.log_metrics({"number": task.data})
                return task

        stage = Logs("a", [], event)
        worker = worker_of(stage)
        message = ""
        try:
            worker.setup_on_node()
            worker.setup()
            call = worker.call([as_source(Number(3), 0)])
            assert len(list(call.outputs())) == 1
            assert call.report.of(0).metrics["number"].sum == 3
        except StageError as error:
            message = str(error)
        finally:
            worker.teardown()
        assert "stage 'a' logged metrics outside of process" in message + caplog.text
        assert vars(stage).keys() == {"name", "calls", "broken"}

    def test_names_the_stage_that_could_not_prepare_its_node(self) -> None:
        with pytest.raises(StageError, match="stage 'a' could not prepare its node: RuntimeError"):
            worker_of(Recorder("a", [], "node")).setup_on_node()

    def test_runs_some_stages_of_a_plan(self) -> None:
        calls: list[str] = []
        plan = unchecked_plan([Recorder("a", calls), Recorder("b", calls)], "fail")
        worker = StageWorker(plan, WorkerInfo(), plan.stages[1:])

        call = worker.call([as_source(Number(1), 0)])
        list(call.outputs())

        assert list(call.report.counts) == [1]

    def test_keeps_the_accounts_of_its_sources_apart(self) -> None:
        class Halves(ProcessingStage[Number, Number]):
            def process(self, task: Number) -> list[Number]:
                if task.data < 0:
                    raise ValueError("negative")
                return [Number(task.data), Number(task.data)]

        class Sum(ProcessingStage[Number, Number]):
            def process_batch(self, tasks: Sequence[Number]) -> Mixed[Number]:
                return Mixed([Number(sum(task.data for task in tasks))])

        stages = [Halves(), Sum().with_(batch_size=4), Halves().with_(name="again")]
        ran = run_stages(stages, [Number(1), Number(2), Number(-3)], on_error="quarantine")

        report = ran.report
        one, two, bad = (keys for keys in report.parts if len(keys) == 1)
        found = {
            keys: {i: (c.tasks_in, c.tasks_passed, c.tasks_out) for i, c in part.counts.items()}
            for keys, part in report.parts.items()
        }
        assert found == {
            one: {0: (1, 1, 2), 1: (2, 0, 0)},
            two: {0: (1, 1, 2), 1: (2, 0, 0)},
            bad: {0: (1, 0, 0)},
            one + two: {1: (0, 4, 1), 2: (1, 1, 2)},
        }
        assert [len(report.parts[keys].quarantined) for keys in (one, bad)] == [0, 1]
        assert all(report.of(index).is_balanced for index in range(3))
        assert report.parts[one].counts[1].seconds > 0

    def test_keeps_some_credit_until_its_report(self) -> None:
        """Otherwise a source could be finished before all of its counts are known."""
        outputs = run_stages([Recorder("a", [])], [Number(1)])

        [output] = outputs.outputs
        [given], [kept] = output.lineage.values(), outputs.report.spent.values()
        assert 0 < given < 1
        assert given + kept == 1

    def test_does_nothing_until_outputs_are_asked_for(self) -> None:
        call = worker_of(Scripted([("itself", 1)])).call([as_source(Number(1), 0)])

        assert call.report.counts == {}
        assert len(list(call.outputs())) == 1

    def test_yields_each_output_before_making_the_next(self) -> None:
        outputs = worker_of(Scripted([("breaks off", 2)])).call([as_source(Number(1), 0)]).outputs()

        assert next(outputs).data == made(Number(1), 0).data


@dataclass
class Box(DropSink):
    kept: list[tuple[str, str, AnyTask]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        self.kept.append((stage, reason, records))

    def finish(self, call_id: str) -> list[StagedFile]:
        self.finished.append(call_id)
        return [StagedFile(".staged", "dropped.jsonl", dropped=True)]


class KeepsDropped(Recorder):
    def __init__(self, box: Box) -> None:
        super().__init__("keeps_dropped", [])
        self.box = box

    def drop_sink(self, worker: WorkerInfo) -> DropSink:
        return self.box


class TestDropped:
    def test_records_are_stored_by_a_later_stage(self) -> None:
        box = Box()
        drops = Scripted([("nothing", 0), ("dropped", 0), ("itself", 0)])

        ran = run_stages([drops, KeepsDropped(box)], [Number(n) for n in range(3)])

        assert box.kept == [("scripted", "dropped", Number(0))]
        assert [task.data for task in ran.outputs] == [2]
        assert ran.counts.reasons == {"dropped": 1, "unwanted": 1}

    def test_files_belong_to_every_source_of_the_call(self) -> None:
        box = Box()
        sources = [as_source(Number(n), n) for n in range(2)]

        ran = run_in_worker([Scripted([("itself", 0)]), KeepsDropped(box)], sources, "fail")

        keys = tuple(key for source in sources for key in source.lineage)
        assert ran.report.staged == [(StagedFile(".staged", "dropped.jsonl", dropped=True), keys)]
        assert box.finished == [f"{sources[0].task_id}.0"]
