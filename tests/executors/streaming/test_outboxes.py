"""The hand-over between the thread that drives and the one that takes."""

import threading

import pytest
from curator_core import Task
from curator_core.errors import StageError
from curator_streaming.outboxes import Outbox


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(threading.Event(), room=100)


def test_what_was_put_in_comes_out_in_order_and_then_the_end(outbox: Outbox) -> None:
    outbox.put([Task(1), Task(2)], 10)
    outbox.put([], 10)
    outbox.put([Task(3)], 10)
    outbox.end()

    assert [task.data for task in outbox] == [1, 2, 3]
    assert (outbox.given, outbox.taken) == (3, 3)


def test_an_output_counts_as_taken_when_the_next_one_is_asked_for(outbox: Outbox) -> None:
    outbox.put([Task(1), Task(2)], 10)
    taking = iter(outbox)

    next(taking)
    assert outbox.taken == 0
    next(taking)
    assert outbox.taken == 1


def test_room_comes_back_and_rings_the_bell_when_a_lot_is_through() -> None:
    bell = threading.Event()
    outbox = Outbox(bell, room=100)
    outbox.put([Task(1)], 100)
    outbox.put([Task(2)], 100)
    taking = iter(outbox)

    next(taking)
    assert (outbox.has_room, bell.is_set()) == (False, False)
    next(taking)
    assert bell.is_set()
    outbox.end()
    assert list(taking) == []
    assert outbox.has_room


def test_an_error_comes_after_what_was_there_before_it(outbox: Outbox) -> None:
    outbox.put([Task(1)], 10)
    outbox.end(StageError("broken"))
    taking = iter(outbox)

    assert next(taking).data == 1
    with pytest.raises(StageError, match="broken"):
        next(taking)


def test_the_taker_waits_for_the_driver(outbox: Outbox) -> None:
    taken: list[object] = []
    taker = threading.Thread(target=lambda: taken.extend(task.data for task in outbox))
    taker.start()

    outbox.put([Task(1)], 10)
    outbox.end()
    taker.join(10)

    assert taken == [1]
