"""Messages arrive whole, and a reader never waits for the rest of one."""

import socket
from collections.abc import Iterator

import pytest
from curator_core.local.ipc import Frames, send_frame
from hypothesis import given
from hypothesis import strategies as st

Line = tuple[socket.socket, Frames]


@pytest.fixture
def line() -> Iterator[Line]:
    ours, theirs = socket.socketpair()
    frames = Frames(ours.fileno())
    ours.close()
    yield theirs, frames
    frames.close()
    theirs.close()


def test_an_incomplete_message_is_not_waited_for(line: Line) -> None:
    """The worker was stopped in the middle of a message."""
    theirs, frames = line
    sent = b"\0" * 7 + b"\5" + b"hello"
    for end in range(len(sent)):
        assert frames.take() is None
        theirs.send(sent[end : end + 1])
    assert frames.take() == b"hello"
    assert frames.take() is None


def test_the_end_of_the_connection_is_noticed_in_the_middle_of_a_message(line: Line) -> None:
    theirs, frames = line
    send_frame(theirs.fileno(), b"first")
    theirs.send(b"\0" * 7 + b"\5" + b"he")
    theirs.close()
    assert frames.take() == b"first"
    with pytest.raises(EOFError):
        frames.take()


def test_discarded_messages_make_room(line: Line) -> None:
    theirs, frames = line
    theirs.send(b"x" * 1000)
    frames.discard()
    frames.discard()
    theirs.close()
    with pytest.raises(EOFError):
        frames.discard()


@given(messages=st.lists(st.binary(), max_size=8))
def test_messages_come_one_by_one_as_they_were_sent(messages: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    frames = Frames(ours.fileno())
    for message in messages:
        send_frame(theirs.fileno(), message)
    assert [frames.take() for _ in messages] == messages
    for end in (ours, theirs, frames):
        end.close()
