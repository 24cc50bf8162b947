"""A run's counts are right even if executors report late, twice, in part or out of order."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from curator_core import (
    BudgetError,
    CuratorError,
    Dropped,
    EmptyRunError,
    Executor,
    FileGroup,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    RunResult,
    StageError,
    Task,
    WorkerInfo,
)
from curator_core.execution.worker import StageWorker
from curator_core.model.lineage import source_of
from curator_core.model.reports import CallReport
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan
from curator_core.run.run import ActiveRun
from hypothesis import given, settings
from hypothesis import strategies as st
from runkit import (
    Pairs,
    Together,
    WriteWords,
    hidden_leftovers,
    published,
    words_pipeline,
    write_inputs,
)

Late = tuple[list[AnyTask], CallReport, list[AnyTask]]


class Chaos(Executor):
    """Loses workers in the middle of calls, and gets reports of dead ones much later."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.late: list[Late] = []

    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
        worker = StageWorker(plan, WorkerInfo("0", run_token=run.token), run.worker_stages)
        worker.setup()
        waiting: list[AnyTask] = []
        sources = run.sources()
        while True:
            waiting += [task for task in [next(sources, None)] if task is not None]
            if not waiting and run.listed_all:
                break
            batch = [waiting.pop() for _ in range(min(len(waiting), self.dice.randint(1, 3)))]
            yield from self._work(worker, run, batch, waiting)
            yield from self._hear_from_the_dead(run)
            for source in run.take_mixed_sources():
                waiting += run.restart_source(source, "mixed with a void attempt")
        worker.teardown()

    def _work(
        self, worker: StageWorker, run: ActiveRun, batch: list[AnyTask], waiting: list[AnyTask]
    ) -> Iterator[AnyTask]:
        call = worker.call(batch, run.blame(batch[0]))
        outputs = list(call.outputs())
        if self.dice.random() < 0.3:
            delivered = self.dice.randint(0, len(outputs))
            for output in outputs[:delivered]:
                yield from run.add_output(output)
            for key in [key for task in batch for key in task.lineage]:
                if run._ledger.is_current(key):  # not restarted together with its neighbour
                    waiting += run.restart_source(key[0], "its worker died")
            self.late.append((outputs[delivered:], call.report, batch))
            return
        if self.dice.random() < 0.3:  # one of them is void meanwhile: a piece of it died elsewhere
            unlucky = source_of(self.dice.choice(batch).lineage)
            waiting += run.restart_source(unlucky, "its worker died")
        for output in outputs:
            yield from run.add_output(output)
        yield from run.apply_report(call.report, batch)

    def _hear_from_the_dead(self, run: ActiveRun) -> Iterator[AnyTask]:
        if self.late and self.dice.random() < 0.5:
            outputs, report, batch = self.late.pop(self.dice.randrange(len(self.late)))
            for output in outputs:
                yield from run.add_output(output)
            yield from run.apply_report(report, batch)


def words_in(out: Path) -> list[str]:
    files = {name: text for name, text in published(out).items() if name.startswith("part-")}
    return sorted(word for text in files.values() for word in text.decode().strip().split("+"))


TEXTS = ["a b c", "d bad1 e", "drop1 f", "g h bad2 bad3", "drop2", "i j k", "l", "m n"]


class Sink(WriteWords):
    """Writes and returns nothing: its credit is spent when its file is only staged."""

    def process(self, task: Task[str]) -> FileGroup:
        written = super().process(task)
        written.data = []
        return written


@pytest.mark.parametrize(
    ("mixing", "ending"), [(False, WriteWords), (True, WriteWords), (True, Sink)]
)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_record_is_lost_or_duplicated_whatever_an_executor_loses(
    mixing: bool, ending: type[WriteWords], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("chaos")
    write_inputs(folder, TEXTS)
    pipeline = words_pipeline(folder, *[Pairs()] * mixing)
    pipeline.stages = [*pipeline.stages[:-1], ending(str(folder / "out"))]
    result = pipeline.run(Chaos(seed))
    found = words_in(folder / "out")
    assert len(found) == len(set(found)) == 14
    assert result.sources_done == 8
    reasons = sorted(record.reason.partition(" (")[0][-4:] for record in result.quarantined)
    assert reasons == ["bad1", "bad2", "bad3"]
    assert hidden_leftovers(folder / "out") == []
    judged = result.stages["judge"]
    assert (judged.tasks_in, judged.tasks_passed, judged.tasks_failed) == (19, 14, 3)
    assert (judged.tasks_dropped, judged.items_in, judged.items_dropped) == (2, 19, 2)


def test_sources_that_are_mixed_become_visible_together(tmp_path: Path) -> None:
    """The third source fails the run: the two that were mixed before it stay published."""
    write_inputs(tmp_path, ["a", "b c", "d bad", "e"])
    pipeline = words_pipeline(tmp_path, Pairs())
    pipeline.on_error = "fail"
    stream = pipeline.stream(Together(2))
    visible = [len(words_in(tmp_path / "out")) for _ in islice(stream, 2)]
    with pytest.raises(StageError, match="stage 'judge' failed: ValueError: cannot judge bad"):
        next(stream)
    assert visible == [3, 3]
    assert len(words_in(tmp_path / "out")) == 3


def test_late_reports_lose_no_output() -> None:
    """Calls on parts of the same source: the outputs of all arrive before any report."""

    class Spreads(ProcessingStage[Task[int], Task[int]]):
        def process(self, task: Task[int]) -> list[Task[int]]:
            return [Task(task.data + n) for n in range(4)]

    class Late(Executor):
        def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
            reports: list[tuple[CallReport, list[AnyTask]]] = []
            flow = list(run.sources())
            for planned in run.worker_stages:
                worker = StageWorker(plan, WorkerInfo("0"), [planned])
                calls = [(worker.call([task]), [task]) for task in flow]
                flow = [output for call, _ in calls for output in call.outputs()]
                reports += [(call.report, given) for call, given in calls]
            for output in flow:
                yield from run.add_output(output)
            for report, sources in reports[::-1]:
                yield from run.apply_report(report, sources)

    pipeline = Pipeline("p", stages=[Spreads(), Doubled(), Doubled().with_(name="again")])
    result = pipeline.run(Late(), [Task(1), Task(10)])
    assert [result.stages[name].tasks_in for name in ("spreads", "doubled", "again")] == [2, 8, 8]
    assert len(result) == result.stages["again"].tasks_out == 8


class Doubled(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Any:
        if task.data < 0:
            raise ValueError(f"{task.data} is negative")
        if task.data == 0:
            return Dropped("zero")
        return task.with_data(2 * task.data)


def run_numbers(*numbers: int, **options: Any) -> RunResult:
    stages = [Doubled()]
    tasks = [Task(number) for number in numbers]
    return Pipeline("numbers", stages=stages, **options).run(LocalExecutor(workers=0), tasks)


class TestAccounts:
    def test_every_item_comes_out_or_is_counted_as_dropped_or_failed(self) -> None:
        result = run_numbers(1, 0, -1, 2, max_failures=None)
        counts = result.stages["doubled"]
        assert (counts.tasks_in, counts.tasks_passed) == (4, 2)
        assert (counts.tasks_dropped, counts.tasks_failed) == (1, 1)
        assert counts.reasons == {"zero": 1}
        assert [record.source for record in result.quarantined] != [""]

    def test_a_source_that_an_executor_loses_is_noticed(self, tmp_path: Path) -> None:
        class Forgetful(Executor):
            def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
                list(run.sources())
                return iter(())

        write_inputs(tmp_path, ["a"])
        with pytest.raises(AssertionError, match="the executor lost 1 of the sources"):
            words_pipeline(tmp_path).run(Forgetful())


class TestBudgets:
    def test_a_count_of_failures(self) -> None:
        with pytest.raises(BudgetError) as caught:
            run_numbers(1, -1, -2, max_failures=1)
        assert re.sub(r"\(test_run\.py:\d+\)", "(…)", str(caught.value)) == (
            "too many failures: stage 'doubled' failed on 2 of 3 tasks and rejected 0 records, "
            "more than max_failures=1 allows (the last one: ValueError: -2 is negative (…)). Fix "
            "the cause or raise max_failures, then run the same command: what is finished is kept"
        )
        assert caught.value.exit_code == 4

    def test_a_share_counts_from_the_hundredth_task_on(self) -> None:
        assert len(run_numbers(*[1] * 89, *[-1] * 10)) == 89
        with pytest.raises(BudgetError, match="failed on 11 of 100 tasks"):
            run_numbers(*[1] * 89, *[-1] * 11)

    def test_a_share_is_held_against_small_runs_at_their_end(self) -> None:
        assert len(run_numbers(1, 1, -1, -2).quarantined) == 2
        with pytest.raises(BudgetError) as caught:
            run_numbers(1, -1, -2)
        assert re.sub(r"\((test_run\.py:\d+|[0-9a-f]{12})\)", "(…)", str(caught.value)) == (
            "most tasks failed: stage 'doubled' failed on 2 of 3 tasks: ValueError: -2 is negative "
            "(…) (…). Fix the cause and run again (changed inputs are detected); if this is "
            "expected, set max_failures or allow_empty (--allow-empty)"
        )
        result = caught.value.result
        assert result is not None
        assert ([task.data for task in result], result.status) == ([2], "failed")
        assert result.stages["doubled"].tasks_failed == len(result.quarantined) == 2

    def test_a_share_applies_to_failures_at_the_beginning(self) -> None:
        with pytest.raises(BudgetError, match="failed on 30 of 120 tasks"):
            run_numbers(*[-1] * 30, *[1] * 90)

    def test_a_share_of_zero_allows_no_failure(self) -> None:
        with pytest.raises(BudgetError, match="failed on 1 of 2 tasks"):
            run_numbers(1, -1, max_failures=0.0)

    def test_a_count_does_not_allow_everything_to_fail(self) -> None:
        assert len(run_numbers(-1, -2, 3, max_failures=5)) == 1
        with pytest.raises(BudgetError, match="most tasks failed: stage 'doubled'"):
            run_numbers(-1, -2, max_failures=5)

    def test_a_repeated_run_fails_again(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["bad1", "bad2"])
        pipeline = words_pipeline(tmp_path)
        pipeline.max_failures = 0.1
        for _ in range(2):
            with pytest.raises(BudgetError, match=r"failed on 2 of 2 tasks.*quarantine"):
                pipeline.run(LocalExecutor(workers=0))
        (tmp_path / "mended").touch()
        assert pipeline.retry(str(tmp_path / "out/.curator/words"), LocalExecutor(0))

    def test_a_re_run_counts_once(self, tmp_path: Path) -> None:
        """The void attempt had already failed."""

        class Twice(Together):
            def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
                worker = StageWorker(plan, WorkerInfo("0", run_token=run.token), run.worker_stages)
                sources = list(run.sources())
                for _ in range(5):
                    part = worker.call(sources, run.blame(sources[0]))
                    next(part.outputs())
                    run.apply_report(part.report, sources)
                    sources = [
                        t for s in sources for t in run.restart_source(source_of(s.lineage), "died")
                    ]
                call = worker.call(sources, run.blame(sources[0]))
                for output in call.outputs():
                    yield from run.add_output(output)
                yield from run.apply_report(call.report, sources)

        pipeline = Pipeline("p", stages=[Doubled()], max_failures=1)
        result = pipeline.run(Twice(), [Task(-1), Task(2)])
        assert (len(result), result.stages["doubled"].tasks_in) == (1, 2)

    def test_no_limit(self) -> None:
        assert len(run_numbers(*[-1] * 200, max_failures=None).quarantined) == 200


class TestEmptiness:
    def test_no_sources(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, [])
        with pytest.raises(EmptyRunError) as caught:
            words_pipeline(tmp_path).run(LocalExecutor(workers=0))
        assert str(caught.value) == (
            "pipeline 'words' had nothing to do: its first stage found no sources. "
            "Check its paths, or set allow_empty (--allow-empty) if that is expected"
        )

    def test_an_empty_result_without_a_reason(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["", ""])
        with pytest.raises(EmptyRunError) as caught:
            words_pipeline(tmp_path).run(LocalExecutor(workers=0))
        assert str(caught.value) == (
            "pipeline 'words' returned nothing, although no stage dropped anything: "
            "stage 'read_words' found no records in its sources; set allow_empty (--allow-empty) "
            "if that is expected"
        )

    def test_all_dropped_is_a_result_that_names_the_largest_drop(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        result = run_numbers(0, 0)
        assert (len(result), result.status, result.kept_nothing) == (0, "done", True)
        [text] = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert "2 records were dropped" in text
        assert f"by stage {next(n for n, c in result.stages.items() if c.items_dropped)!r}" in text

    def test_all_dropped_needs_no_warning_where_it_is_allowed(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert run_numbers(0, 0, allow_empty=True).kept_nothing
        assert not [record for record in caplog.records if record.levelname == "WARNING"]

    def test_allow_empty(self) -> None:
        assert len(run_numbers(allow_empty=True)) == 0


class TestGivenTasks:
    def test_other_data_is_not_mistaken_for_finished_work(self, tmp_path: Path) -> None:
        def run(*words: str) -> list[str]:
            pipeline = words_pipeline(tmp_path)
            pipeline.stages = pipeline.stages[2:]
            pipeline.run(LocalExecutor(workers=0), [Task(word) for word in words])
            return words_in(tmp_path / "out")

        first = run("a", "b")
        assert run("a", "b") == first
        assert len(run("c", "d")) == 4
        assert len(run("c", "c")) == 5

    def test_the_same_file_twice_is_there_twice(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b"])
        pipeline = words_pipeline(tmp_path)
        [file] = [*pipeline.stages[0].process(None)]  # type: ignore[arg-type]
        [again] = [*pipeline.stages[0].process(None)]  # type: ignore[arg-type]
        pipeline.stages = pipeline.stages[1:]
        for _ in range(2):
            pipeline.run(LocalExecutor(workers=0), [file, again])
            assert len(words_in(tmp_path / "out")) == 4


def test_errors_are_curator_errors() -> None:
    assert issubclass(BudgetError, CuratorError)
