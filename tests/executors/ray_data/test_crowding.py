"""Whoever runs Ray Data inside of the loop over a stream is told what it waits for."""

import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from curator_ray_data.crowding import Crowding
from curator_ray_data.insides import Execution


class Runs(threading.Thread):
    """As much of what runs a dataset as is looked at: it holds so many CPUs."""

    def __init__(self, cpus: float) -> None:
        super().__init__(name="StreamingExecutor-dataset", daemon=True)
        self._is_over = threading.Event()
        self._resource_manager = SimpleNamespace(get_global_usage=lambda: SimpleNamespace(cpu=cpus))
        self.start()

    def run(self) -> None:
        self._is_over.wait()

    def execute(self) -> None: ...

    def end(self) -> None:
        self._is_over.set()
        self.join()


@pytest.fixture
def running() -> Iterator[list[Runs]]:
    """Each holds three CPUs."""
    made: list[Runs] = []
    yield made
    for one in made:
        one.end()


def execution_of(runs: Runs) -> Execution:
    dataset = SimpleNamespace(_create_executor=lambda: runs)
    execution = Execution(dataset)
    dataset._create_executor()
    return execution


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_all_that_there_is_is_held_while_another_waits(
    running: list[Runs], caplog: pytest.LogCaptureFixture
) -> None:
    running += [Runs(3), Runs(0)]
    crowding = Crowding(execution_of(running[0]), lambda: 3.5)

    crowding.look(1.0)
    assert not told(caplog)
    crowding.look(6.0)
    crowding.look(60.0)

    [said] = told(caplog)
    assert "one of the 3.5 CPUs" in said
    assert "resource_limits" in said


@pytest.mark.parametrize(("others", "cpus"), [(0, 3.0), (1, 4.0)])
def test_nothing_is_said_where_nobody_waits_or_there_is_room(
    others: int, cpus: float, running: list[Runs], caplog: pytest.LogCaptureFixture
) -> None:
    running += [Runs(3), *(Runs(0) for _ in range(others))]
    Crowding(execution_of(running[0]), lambda: cpus).look(60.0)

    assert not told(caplog)


def test_a_ray_data_that_looks_other_than_it_did_is_not_asked() -> None:
    execution = Execution(SimpleNamespace())
    unlike: Any = SimpleNamespace(execute=None)
    execution._executors.append(unlike)

    assert execution.cpus_held == 0
