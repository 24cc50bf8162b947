"""How a job begins, and what becomes of it where Ray Data looks other than it did."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("ray.data")

from curator_core.errors import StageError
from curator_ray_data.contexts import Overheard
from curator_ray_data.jobs import Job

ABOUT_RESTARTS = "Actor x has constructor arguments in the object store and max_restarts > 0. If"


class Runs:
    """Says what Ray does as soon as a process has its first pool of actors, and one line more."""

    was_ended = False

    def execute(self) -> list[str]:
        os.write(2, f"core_worker.cc:2465: {ABOUT_RESTARTS}\nanother line\n".encode())
        return ["a block"]

    def shutdown(self, *, force: bool) -> None:
        self.was_ended = not force


class Runnable:
    """As much of a dataset as a job looks at."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._create_executor: Callable[[], Runs]

    def iter_batches(self, **_: Any) -> Iterator[str]:
        return iter(self._create_executor().execute())


class OfToday(Runnable):
    def _create_executor(self) -> Runs:  # type: ignore[override]
        return self._runs


class Broken(OfToday):
    """Raises as Ray Data does."""

    def iter_batches(self, **_: Any) -> Iterator[str]:
        from ray.data.exceptions import SystemException

        raise ValueError("Invalid scheduling strategy") from SystemException()


class OfTomorrow(Runnable):
    def iter_batches(self, **_: Any) -> Iterator[str]:
        return iter(self._runs.execute())


@pytest.fixture(autouse=True)
def no_level_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_BACKEND_LOG_LEVEL", raising=False)


def taken(job: Job) -> list[Any]:
    return [block for block in job.blocks() if block is not None]


def test_ray_does_not_speak_of_restarts_where_all_is_well(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert taken(Job(OfToday(Runs()), Overheard())) == ["a block"]  # type: ignore[arg-type]
    assert capfd.readouterr().err == "another line\n"


def test_who_wants_the_log_of_ray_gets_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_BACKEND_LOG_LEVEL", "info")
    taken(Job(OfToday(Runs()), Overheard()))  # type: ignore[arg-type]
    assert ABOUT_RESTARTS in capfd.readouterr().err


def test_one_that_is_left_is_ended_at_once() -> None:
    runs = Runs()
    runs.execute = lambda: ["a block"] * 9  # type: ignore[method-assign]
    job = Job(OfToday(runs), Overheard())  # type: ignore[arg-type]
    next(block for block in job.blocks() if block is not None)

    assert job.leave(5.0)
    assert runs.was_ended


def test_its_pools_may_grow() -> None:
    from ray.data._internal.actor_autoscaler.autoscaling_actor_pool import AutoscalingActorConfig
    from ray.data._internal.execution.interfaces import ExecutionResources

    class Pooled:
        _config = AutoscalingActorConfig(1, 1, 1, 4, 1, ExecutionResources(cpu=1))

        def get_autoscaling_actor_pools(self) -> list[Any]:
            return [self]

    runs, pooled = Runs(), Pooled()
    runs.execute = lambda: ["a block"] * 9  # type: ignore[method-assign]
    runs._topology = {pooled: "state"}  # type: ignore[attr-defined]
    job = Job(OfToday(runs), Overheard())  # type: ignore[arg-type]
    job.let_grow([9])  # it has not begun
    next(block for block in job.blocks() if block is not None)
    job.let_grow([3])
    assert pooled._config.max_size == 3
    assert job.leave(5.0)


def test_one_that_never_began_can_be_left() -> None:
    assert Job(OfToday(Runs()), Overheard()).leave(5.0)  # type: ignore[arg-type]


def test_another_ray_data_is_run_as_it_is() -> None:
    job = Job(OfTomorrow(Runs()), Overheard())  # type: ignore[arg-type]
    assert taken(job) == ["a block"]
    assert job.leave(5.0)


def test_what_went_wrong_inside_of_ray_data_is_told() -> None:
    job = Job(Broken(Runs()), Overheard())  # type: ignore[arg-type]
    with pytest.raises(StageError, match="cannot go on: ValueError: Invalid scheduling strategy;"):
        taken(job)
