"""Failures: retries, quarantine, failure budgets, and workers that die or hang."""

from itertools import pairwise
from pathlib import Path

import pytest

from curator_core.errors import BudgetError, StageError
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import Task
from curator_core.run.result import RunResult
from curator_core.testing.contract.jobs import ended
from curator_core.testing.contract.logs import read_log
from curator_core.testing.contract.stages import (
    Adds,
    Exits,
    Fails,
    FailsFirst,
    Falters,
    FansOut,
    Hangs,
    KeepsEven,
    Kills,
    Writes,
)
from curator_core.testing.contract.trials import Trial, data, untimed


class FailuresContract(Trial):
    def test_a_bad_task_is_quarantined_and_the_others_continue(self) -> None:
        result = self.run(Adds(0), Fails(frozenset({3})), Adds(1).with_(name="adds_more"),
                          numbers=range(6), max_failures=None)  # fmt: skip

        assert data(result) == [1, 2, 3, 5, 6]
        [record] = result.quarantined
        assert (record.stage, record.stage_index, record.attempts) == ("fails", 1, 1)
        assert record.reason == "ValueError: number 3 is bad"
        assert "raise ValueError" in record.detail
        assert record.payload is not None
        assert Task.from_payload(record.payload) == Task(3)
        counts = result.stages["fails"]
        assert (counts.tasks_in, counts.tasks_passed, counts.tasks_failed) == (6, 5, 1)

    def test_one_bad_task_takes_no_neighbour_along(self) -> None:
        bad = frozenset({101, 204})
        result = self.run(FansOut(5), Fails(bad).with_(batch_size=4), numbers=range(3),
                          max_failures=None)  # fmt: skip

        assert data(result) == [n * 100 + i for n in range(3) for i in range(5)
                                if n * 100 + i not in bad]  # fmt: skip
        assert {record.reason for record in result.quarantined} == {
            f"ValueError: number {number} is bad" for number in bad
        }
        assert result.stages["fails"].tasks_failed == 2

    def test_a_stage_that_would_end_its_process_fails_its_task(self) -> None:
        result = self.run(Exits(), numbers=range(5), max_failures=None)

        assert data(result) == [0, 4]
        assert sorted(record.reason for record in result.quarantined) == [
            "a process that the stage forked left it by sys.exit(7); end such a process with "
            "os._exit(), or use multiprocessing or subprocess",
            "the stage called sys.exit(0)",
            "the stage raised KeyboardInterrupt",
        ]
        assert result.worker_restarts == {}

    def test_skipped_failures_are_counted_and_not_kept(self) -> None:
        result = self.run(Fails(frozenset({3})), on_error="skip", max_failures=None)

        assert (len(result), result.quarantined) == (9, [])
        assert result.stages["fails"].tasks_failed == 1

    def test_a_stages_own_policy_comes_first(self) -> None:
        stage = Fails(frozenset({3})).with_(on_error="skip")

        assert len(self.run(stage, on_error="fail", max_failures=None)) == 9

    def test_a_failure_ends_the_run_if_the_policy_says_so(self) -> None:
        with pytest.raises(
            StageError, match=r"stage 'fails' failed.*ValueError: number 3 is bad"
        ) as at:
            self.run(Fails(frozenset({3})), on_error="fail")

        assert at.value.stage == "fails"
        assert "raise ValueError" in at.value.detail

    def test_retries_wait_longer_each_time(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        result = self.run(FailsFirst(log, times=2), numbers=[5, 6], retries=2)

        assert data(result) == [5, 6]
        assert result.stages["fails_first"].tasks_retried == 4
        for number in "56":
            tries = [event.moment for event in read_log(log) if event.what == number]
            first, second = (after - before for before, after in pairwise(tries))
            assert first >= 0.09
            assert second >= 0.19

    def test_retries_come_to_an_end(self, tmp_path: Path) -> None:
        stage = FailsFirst(str(tmp_path / "log"), times=9)
        result = self.run(stage, numbers=[5], retries=1, max_failures=None)

        [record] = result.quarantined
        assert (record.attempts, record.reason) == (2, "ValueError: not yet")
        assert len(read_log(tmp_path / "log")) == 2

    @pytest.mark.parametrize(
        ("limit", "count", "message"),
        [
            (2, 20, r"max_failures=2\b"),
            (0, 3, r"max_failures=0\b"),
            (0.1, 150, r"max_failures=0\.1"),
        ],
    )
    def test_too_many_failures_end_the_run(self, limit: float, count: int, message: str) -> None:
        bad = Fails(frozenset(range(count)))

        with pytest.raises(BudgetError, match=f"(?s)stage 'fails'.*{message}"):
            self.run(bad, numbers=range(count), max_failures=limit)

    def test_failures_within_the_budget_do_not(self) -> None:
        result = self.run(Fails(frozenset({1, 2})), max_failures=2)

        assert (len(result), len(result.quarantined)) == (8, 2)

    def test_a_hanging_task_is_set_aside(self) -> None:
        self.needs("timeouts")
        stage = Hangs(bad=2).with_(timeout_s=0.4)

        result = self.run(stage, numbers=range(5), max_failures=None)

        assert data(result) == [0, 1, 3, 4]
        [record] = result.quarantined
        assert (record.stage, record.attempts) == ("hangs", 2)
        assert "took longer than its timeout_s of 0.4 s" in record.reason

    def test_a_task_that_kills_its_workers_is_set_aside(self, tmp_path: Path) -> None:
        self.needs("isolation")
        (tmp_path / "poison").touch()

        result = self.run(Kills(7, str(tmp_path / "poison")), Adds(0), numbers=range(20),
                          max_failures=None)  # fmt: skip

        assert data(result) == [number for number in range(20) if number != 7]
        _one_killer(result, Task(7))
        assert result.stages["adds"].tasks_in == 19

    def test_a_killer_takes_no_neighbour_along(self, tmp_path: Path) -> None:
        self.needs("isolation")
        (tmp_path / "poison").touch()
        stage = Kills(103, str(tmp_path / "poison")).with_(batch_size=4)

        result = self.run(FansOut(6, lazily=True), stage, numbers=range(3), max_failures=None)

        expected = [n * 100 + i for n in range(3) for i in range(6)]
        assert data(result) == [number for number in expected if number != 103]
        _one_killer(result, Task(103))

    def test_a_worker_that_dies_once_costs_nothing(self, tmp_path: Path) -> None:
        self.needs("isolation")
        (tmp_path / "poison").touch()

        result = self.run(FansOut(2), Kills(300, str(tmp_path / "poison"), only_once=True))

        assert data(result) == [n * 100 + i for n in range(10) for i in range(2)]
        assert len({task.task_id for task in result}) == 20
        assert result.quarantined == []
        assert sum(result.worker_restarts.values()) == 1
        assert result.stages["kills"].tasks_passed == 20

    def test_counts_after_a_death_are_those_of_an_undisturbed_run(self, tmp_path: Path) -> None:
        self.needs("isolation")
        cause, bad = tmp_path / "cause", frozenset({101, 700})
        stages: list[AnyStage] = [Falters(5, str(cause)), KeepsEven(), Fails(bad), Adds(1)]

        calm = self.run(*stages, numbers=range(9), max_failures=None)
        cause.touch()
        disturbed = self.run(*stages, numbers=range(9), max_failures=None)

        assert data(disturbed) == data(calm)
        assert len(disturbed.quarantined) == len(calm.quarantined) == 1
        assert (len(calm.worker_restarts), len(disturbed.worker_restarts)) == (0, 1)
        for name, counts in calm.stages.items():
            assert disturbed.stages[name].is_balanced
            assert untimed(disturbed.stages[name]) == untimed(counts), name

    def test_without_isolation_a_killer_ends_the_run_but_loses_nothing(
        self, tmp_path: Path
    ) -> None:
        if "isolation" in self.make_executor().capabilities:
            pytest.skip("a killer does not end the run")
        poison, out = tmp_path / "poison", tmp_path / "out"
        poison.touch()
        stages: list[AnyStage] = [Kills(7, str(poison)), Writes(str(out))]

        code, output = ended(self.job(*stages).start())
        before = {path.name for path in out.glob("part-*")}
        poison.unlink()
        result = self.run(*stages)

        assert code == -9, output
        assert len(before) == result.sources_skipped == 7
        assert sorted(int(path.read_text()) for path in out.glob("part-*")) == list(range(10))


def _one_killer(result: RunResult, killer: Task[int]) -> None:
    [record] = result.quarantined
    assert record.stage == "kills"
    assert 2 <= record.attempts <= 5  # a SIGKILL may come from outside, or hit a batch
    assert "SIGKILL" in record.reason
    assert record.payload is not None
    assert Task.from_payload(record.payload) == killer
    assert sum(result.worker_restarts.values()) >= 2
    assert result.stages["kills"].tasks_failed == 1
