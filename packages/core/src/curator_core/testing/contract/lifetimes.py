"""Worker lifetimes: nodes prepared once, workers set up once and torn down once."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from curator_core.errors import StageError
from curator_core.pipeline import Pipeline
from curator_core.testing.contract.jobs import ended, wait_until
from curator_core.testing.contract.logs import Event, lives, read_log, still_running
from curator_core.testing.contract.stages import Adds, Fails, Kills, Lives, NeverReady, Rests
from curator_core.testing.contract.trials import Trial, data, tasks


def check_lives(events: list[Event], *, crashed: bool = False) -> None:
    """Check everything that a log shows about `setup_on_node`, `setup` and `teardown`.

    Workers that crashed may have no teardown; that is the only permitted difference.
    """
    nodes = Counter((e.stage, e.place) for e in events if e.kind == "node")
    assert set(nodes.values()) <= {1}, f"a node was prepared more than once: {nodes}"
    set_up, torn_down = lives(events, "setup"), lives(events, "teardown")
    assert set(set_up.values()) <= {1}, f"a worker was set up more than once: {set_up}"
    assert set(torn_down.values()) <= {1}, f"a worker was torn down more than once: {torn_down}"
    assert torn_down.keys() <= set_up.keys(), "a worker was torn down that was never set up"
    if not crashed:
        assert torn_down.keys() == set_up.keys(), "a worker was set up and never torn down"
    _check_order(events)


def _check_order(events: list[Event]) -> None:
    prepared: set[tuple[str, str]] = set()
    up: set[tuple[str, int, str]] = set()
    for event in events:
        worker = (event.stage, event.pid, event.place)
        if event.kind == "node":
            prepared.add((event.stage, event.place))
        elif event.kind == "setup":
            node = event.place.partition("/")[0]
            assert (event.stage, node) in prepared, f"set up before its node was prepared: {event}"
            up.add(worker)
        elif event.kind == "process":
            assert worker in up, f"worked while it was not set up: {event}"
        elif event.kind == "teardown":
            up.discard(worker)


class LifetimesContract(Trial):
    def test_after_success(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")

        result = self.run(Lives(log), Adds(1), Lives(log).with_(name="lives_again"))

        events = read_log(log)
        assert data(result) == list(range(1, 11))
        check_lives(events)
        for stage in ("lives", "lives_again"):
            kinds = [event.kind for event in events if event.stage == stage]
            assert kinds.count("process") == 10
            assert kinds.count("node") == 1
            assert kinds.count("setup") >= 1

    def test_each_pipeline_of_a_session(self, tmp_path: Path) -> None:
        """Processes may be kept for the next pipeline. Stages are not."""
        executor = self.make_executor()
        with executor.session():
            for name in ("first", "second"):
                log = str(tmp_path / name)
                outputs = Pipeline(stages=[Lives(log)]).run(executor, tasks=tasks(range(3)))
                assert data(outputs) == [0, 1, 2]
                check_lives(read_log(log))

    def test_after_a_failure(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")

        with pytest.raises(StageError, match="number 5 is bad"):
            self.run(Lives(log), Fails(frozenset({5})), on_error="fail")

        check_lives(read_log(log))

    def test_after_a_setup_that_fails(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        broken = Lives(str(tmp_path / "other"), breaks_at="setup").with_(name="broken")

        with pytest.raises(
            StageError, match=r"stage 'broken' could not be set up.*broken at setup"
        ):
            self.run(Lives(log), broken)

        check_lives(read_log(log))
        assert not lives(read_log(tmp_path / "other"), "teardown")

    def test_a_setup_that_hangs_ends_the_run(self) -> None:
        self.needs("isolation")
        stage = NeverReady().with_(setup_timeout_s=0.3)

        with pytest.raises(StageError, match="never_ready") as caught:
            self.run(stage)

        assert "took longer than its setup_timeout_s of 0.3 s" in str(caught.value)

    def test_after_a_node_that_cannot_be_prepared(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")

        with pytest.raises(
            StageError, match=r"stage 'lives' could not prepare its node.*broken at"
        ):
            self.run(Lives(log, breaks_at="node"))

        assert {event.kind for event in read_log(log)} == {"node"}

    def test_a_teardown_that_fails_loses_nothing(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        broken = Lives(log, breaks_at="teardown").with_(name="broken")

        assert len(self.run(Lives(log), broken)) == 10
        check_lives(read_log(log))

    def test_after_a_crash(self, tmp_path: Path) -> None:
        self.needs("isolation")
        log, poison = str(tmp_path / "log"), tmp_path / "poison"
        poison.touch()

        result = self.run(Lives(log), Kills(3, str(poison)), Adds(0), max_failures=None)

        events = read_log(log)
        assert len(result) == 9
        check_lives(events, crashed=True)
        missing = lives(events, "setup").total() - lives(events, "teardown").total()
        assert 1 <= missing <= sum(result.worker_restarts.values())

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_after_an_interruption(self, tmp_path: Path, number: signal.Signals) -> None:
        log = str(tmp_path / "log")
        running = self.job(Lives(log), Rests(0.05), numbers=range(400)).start()

        wait_until(lambda: any(event.kind == "process" for event in read_log(log)))
        os.killpg(running.pid, number)  # as terminals, `timeout` and schedulers do
        code, output = ended(running)

        events = read_log(log)
        assert code == 128 + number, output
        assert f"stopped by {number.name}" in output
        check_lives(events)
        assert len([event for event in events if event.kind == "process"]) < 400
        assert not still_running(event.pid for event in events)

    def test_after_the_sudden_end_of_the_driver(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        running = self.job(Lives(log), Rests(0.05), numbers=range(400)).start()

        wait_until(lambda: any(event.kind == "process" for event in read_log(log)))
        running.kill()
        ended(running)

        assert not still_running(event.pid for event in read_log(log))
