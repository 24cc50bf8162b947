"""A run without progress says so, and fails if a limit is set."""

import logging
from typing import Any

import pytest
from curator_core import Pipeline, Task
from curator_core.errors import StageError
from curator_core.local.shared_status import StageStatus
from curator_core.testing.contract.stages import Adds
from curator_ray_data.stalls import WARN_AFTER_S, StallWatch

STAGES = Pipeline("p", stages=[Adds(1).with_(name="slow")]).build(tasks=[Task(1)]).stages


class Watched:
    """A stall watch with a clock that the test moves."""

    def __init__(self, timeout_s: float | None = None) -> None:
        self.now = 0.0
        self.statuses: dict[str, StageStatus | None] = {"idle": None}
        self.watch = StallWatch(
            STAGES, lambda: dict(self.statuses), timeout_s, clock=lambda: self.now
        )

    def enter_call(self, since: float) -> None:
        self.statuses["actor-1"] = StageStatus(0, ["task"], since, -1, True)

    def wait(self, seconds: float) -> None:
        for _ in range(100):
            self.now += seconds / 100
            self.watch.poll()


def warnings_of(caplog: Any) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_warns_once_and_names_stage_and_worker(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.enter_call(since=1.0)

    watched.wait(WARN_AFTER_S * 0.9)
    assert not warnings_of(caplog)
    watched.wait(WARN_AFTER_S)

    [warning] = warnings_of(caplog)
    assert "stage 'slow' in worker actor-1" in warning


def test_new_calls_and_blocks_are_progress(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched(timeout_s=100)
    for call in range(5):
        watched.enter_call(since=call)
        watched.wait(60)
        watched.watch.record_progress()
        watched.wait(60)
    assert not warnings_of(caplog)


def test_fails_after_the_timeout() -> None:
    watched = Watched(timeout_s=100)
    watched.enter_call(since=1.0)

    watched.wait(90)
    with pytest.raises(StageError, match="stage 'slow' in worker actor-1"):
        watched.wait(60)


def test_says_so_if_no_worker_has_work(caplog: pytest.LogCaptureFixture) -> None:
    Watched().wait(WARN_AFTER_S * 1.2)

    [warning] = warnings_of(caplog)
    assert "no worker has work" in warning
