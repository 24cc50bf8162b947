"""Resuming: interrupted runs that are started again publish every file exactly once."""

from pathlib import Path

import pytest

from curator_core.errors import BudgetError, ResumeError, StageError
from curator_core.model.scores import Scores
from curator_core.model.stages import AnyStage
from curator_core.testing.contract.jobs import ended, wait_until
from curator_core.testing.contract.logs import read_log, still_running
from curator_core.testing.contract.stages import (
    SCALES,
    Adds,
    Fails,
    FansOut,
    Lives,
    Rests,
    Sums,
    Weighs,
    Writes,
)
from curator_core.testing.contract.trials import Trial


def written(out: Path) -> list[int]:
    """Return the numbers in the published files; fail if staged files are left."""
    assert list(out.glob(".part-*")) == [], "unpublished files were left behind"
    return sorted(int(path.read_text()) for path in out.glob("part-*"))


class ResumingContract(Trial):
    def test_a_finished_run_does_nothing_again(self, tmp_path: Path) -> None:
        log, out = str(tmp_path / "log"), tmp_path / "out"
        stages: list[AnyStage] = [Lives(log), Writes(str(out))]

        first = self.run(*stages)
        before = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
        events = len(read_log(log))
        again = self.run(*stages)

        assert (first.sources_done, first.sources_skipped) == (10, 0)
        assert (again.sources_done, again.sources_skipped, again.status) == (0, 10, "done")
        assert written(out) == list(range(10))
        assert {path: path.stat().st_mtime_ns for path in out.glob("part-*")} == before
        assert len(read_log(log)) == events
        assert again.files == first.files

    def test_a_failed_run_resumes_where_it_failed(self, tmp_path: Path) -> None:
        cause, out = tmp_path / "cause", tmp_path / "out"
        cause.touch()
        stages: list[AnyStage] = [Fails(frozenset({15}), str(cause)), FansOut(2), Writes(str(out))]

        with pytest.raises(StageError, match="number 15 is bad"):
            self.run(*stages, numbers=range(20), on_error="fail")
        kept = written(out)
        cause.unlink()
        result = self.run(*stages, numbers=range(20), on_error="fail")

        assert 0 < len(kept) < 40
        assert written(out) == [n * 100 + i for n in range(20) for i in range(2)]
        assert result.sources_skipped == len(kept) / 2
        assert result.sources_done == 20 - result.sources_skipped

    def test_a_run_over_its_budget_keeps_finished_work(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        stages: list[AnyStage] = [Fails(frozenset({12, 13})), Writes(str(out))]

        with pytest.raises(BudgetError, match="what is finished is kept"):
            self.run(*stages, numbers=range(20), max_failures=1)
        result = self.run(*stages, numbers=range(20), max_failures=5)

        assert result.sources_skipped > 0
        assert written(out) == [number for number in range(20) if number not in (12, 13)]
        assert len(result.quarantined) == 2

    def test_a_killed_run_loses_and_doubles_nothing(self, tmp_path: Path) -> None:
        log, out = str(tmp_path / "log"), tmp_path / "out"
        mixing: list[AnyStage] = [FansOut(4, lazily=True), Sums().with_(batch_size=3)]
        stages = [*mixing, Lives(log), Rests(0.02), Weighs(10_000), Writes(str(out))]
        running = self.job(*stages, numbers=range(30)).start()

        wait_until(lambda: len(list(out.glob("part-*"))) >= 6)
        running.kill()
        ended(running)
        assert not still_running(event.pid for event in read_log(log))
        kept = {path.name for path in out.glob("part-*")}
        result = self.run(*stages, numbers=range(30))

        assert result.sources_skipped + result.sources_done == 30
        assert 3 <= result.sources_skipped < 30
        assert kept <= {path.name for path in out.glob("part-*")}
        assert sum(written(out)) == sum(n * 100 + i for n in range(30) for i in range(4))
        counts = result.stages
        assert (counts["fans_out"].tasks_in, counts["fans_out"].tasks_out) == (30, 120)
        assert (counts["sums"].tasks_in, counts["sums"].tasks_passed) == (120, 120)
        through = {(c.tasks_in, c.tasks_out) for c in list(counts.values())[2:]}
        assert through == {(counts["sums"].tasks_out,) * 2} == {(len(written(out)),) * 2}
        assert all(stage.is_balanced for stage in counts.values())
        assert counts["weighs"].scores == {"weight": Scores.of(written(out))}
        assert counts["weighs"].models == {SCALES: len(written(out))}

    def test_a_run_that_is_not_to_be_resumed_starts_over(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        run_dir = str(tmp_path / "run")

        first = self.run(Lives(log), run_dir=run_dir)
        skipping = self.run(Lives(log), run_dir=run_dir)
        restarted = self.run(Lives(log), run_dir=run_dir, resume=False)

        assert [run.sources_skipped for run in (first, skipping, restarted)] == [0, 10, 0]
        assert len([event for event in read_log(log) if event.kind == "process"]) == 20

    def test_another_pipeline_does_not_resume_it(self, tmp_path: Path) -> None:
        run_dir = str(tmp_path / "run")
        self.run(Adds(1), run_dir=run_dir)

        with pytest.raises(ResumeError, match=r"(?s)has changed.*amount:? 1 became 2"):
            self.run(Adds(2), run_dir=run_dir)

    def test_quarantined_tasks_are_not_tried_again(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        stages: list[AnyStage] = [Fails(frozenset({4})), Writes(str(out))]

        first = self.run(*stages, max_failures=None)
        again = self.run(*stages, max_failures=None)

        assert (again.sources_skipped, again.sources_done) == (10, 0)
        assert [r.task_id for r in again.quarantined] == [r.task_id for r in first.quarantined]
        assert again.stages["fails"].tasks_failed == 1
