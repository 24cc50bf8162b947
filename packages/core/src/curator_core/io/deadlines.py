"""Deadlines for connections, which hold even if bytes arrive slowly."""

import io
import time
from dataclasses import dataclass, field
from socket import socket
from typing import Any


@dataclass(frozen=True)
class Deadline:
    """Time limit of a whole request: connecting, headers, body and redirects."""

    total_s: float
    end: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "end", time.monotonic() + self.total_s)

    def left_s(self, most_s: float) -> float:
        """Return the seconds for the next step, at most `most_s`; TimeoutError if none are left."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took longer than {self.total_s:g} s")
        return min(left, most_s)


class TimedSocket:
    """A connected socket for http.client with timeouts.

    Each step may take `silence_s`, and all steps together may not exceed the deadline.
    """

    def __init__(self, connected: socket, silence_s: float, deadline: Deadline) -> None:
        self._socket = connected
        self._silence_s = silence_s
        self._deadline = deadline

    def wait_no_longer(self) -> None:
        """Set the timeout of the next step."""
        self._socket.settimeout(self._deadline.left_s(self._silence_s))

    def sendall(self, data: Any) -> None:
        self.wait_no_longer()
        self._socket.sendall(data)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self, self._socket))

    def close(self) -> None:
        self._socket.close()


class _Reads(io.RawIOBase):
    """Raw reader of a socket. The socket stays open until this is closed, too."""

    def __init__(self, timed: TimedSocket, connected: socket) -> None:
        self._timed = timed
        self._raw = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._timed.wait_no_longer()
        try:
            return self._raw.readinto(buffer)
        except TimeoutError:
            self._timed.wait_no_longer()  # raises if the deadline was exceeded
            raise

    def close(self) -> None:
        self._raw.close()
        super().close()
