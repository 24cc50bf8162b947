"""Frames: what workers say to their parent, each message with its length before it.

A worker may be stopped in the middle of a message. Its parent takes what is there and goes on
with the others, so it never waits for one of them.
"""

import os
import socket
from struct import Struct

_LENGTH = Struct("!Q")
_AT_ONCE = 1 << 20


def send_frame(handle: int, message: bytes) -> None:
    """Say something, and wait until all of it has gone."""
    for part in (_LENGTH.pack(len(message)), message):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(handle, rest) :]


class Frames:
    """The parent's end: messages that have come, and the beginning of one that is coming."""

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=os.dup(handle))
        self._expect(_LENGTH.size, is_length=True)

    def take(self) -> bytearray | None:
        """The next message, or None where not all of it is there; EOFError at the end."""
        while self._fill():
            whole, was_length = self._room, self._is_length
            if was_length:
                self._expect(*_LENGTH.unpack(whole), is_length=False)
            else:
                self._expect(_LENGTH.size, is_length=True)
                return whole
        return None

    def discard(self) -> None:
        """Take all that is there, and forget it; EOFError at the end."""
        try:
            while self._socket.recv(_AT_ONCE, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            return
        raise EOFError

    def close(self) -> None:
        self._socket.close()

    def _expect(self, size: int, *, is_length: bool) -> None:
        self._room = bytearray(size)
        self._filled = 0
        self._is_length = is_length

    def _fill(self) -> bool:
        """Whether all that is expected has come."""
        while self._filled < len(self._room):
            rest = memoryview(self._room)[self._filled :]
            try:
                count = self._socket.recv_into(rest, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            if not count:
                raise EOFError
            self._filled += count
        return True
