"""The status of a worker can be read after its death."""

import os
import time
from collections.abc import Iterator

import pytest
from curator_core import Task
from curator_core.errors import AbortedError
from curator_core.local.shared_status import SharedStatus
from curator_core.model.tasks import AnyTask


@pytest.fixture
def board() -> Iterator[SharedStatus]:
    board = SharedStatus.create()
    yield board
    board.close()


def named(*names: str) -> list[AnyTask]:
    tasks = []
    for name in names:
        task = Task(0)
        task.task_id = name
        tasks.append(task)
    return tasks


def test_nothing_is_recorded_outside_of_stages(board: SharedStatus) -> None:
    assert board.note() is None
    board.begin(1, named("a"), None)
    board.end()
    assert board.note() is None


def test_stage_tasks_and_time(board: SharedStatus) -> None:
    board.begin(3, named("a.1", "a.2"), 0.05)
    note = board.note()
    assert note is not None
    assert (note.stage_index, note.task_ids, note.complete) == (3, ["a.1", "a.2"], True)
    assert not note.is_overdue(note.since + 0.04)
    assert note.is_overdue(note.since + 0.06)
    assert 0 <= time.monotonic() - note.since < 60


def test_without_a_limit_nothing_is_overdue(board: SharedStatus) -> None:
    board.begin(0, (), None)
    note = board.note()
    assert note is not None
    assert (note.task_ids, note.is_overdue(note.since + 1e6)) == ([], False)


def test_a_batch_that_is_too_large_says_so(board: SharedStatus) -> None:
    board.begin(2, named(*(f"{number:032}" for number in range(5000))), None)
    note = board.note()
    assert note is not None
    assert (note.stage_index, note.task_ids, note.complete) == (2, [], False)


def test_a_request_to_stop_is_noticed_at_the_next_entry(board: SharedStatus) -> None:
    board.begin(1, named("a"), None)
    board.request_stop()
    board.end()
    with pytest.raises(AbortedError):
        board.begin(1, named("b"), None)


def test_a_worker_that_writes_does_not_write_over_the_request(board: SharedStatus) -> None:
    """The request may come between the worker's check and its next write."""

    class Late(Task[int]):
        @property
        def task_id(self) -> str:  # type: ignore[override]
            board.request_stop()
            return "a"

        @task_id.setter
        def task_id(self, value: str) -> None:
            pass

    board.begin(1, [Late(0)], None)
    with pytest.raises(AbortedError):
        board.begin(1, named("b"), None)


def test_the_status_outlives_its_writer(board: SharedStatus) -> None:
    child = os.fork()
    if child == 0:
        SharedStatus(board.handle).begin(7, named("last words"), None)
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    note = board.note()
    assert note is not None
    assert (note.stage_index, note.task_ids) == (7, ["last words"])
