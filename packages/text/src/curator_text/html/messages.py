"""Messages: JSON lines between a worker and its child process, and bytes in shared files."""

import json
import os
from collections.abc import Iterable
from typing import IO, Any


def send(stream: IO[bytes], message: Any) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def received(stream: IO[bytes]) -> Any:
    """Return the next message, or None if the other side died, even in the middle of a message."""
    line = stream.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def put(file: int, pieces: Iterable[Any], start: int) -> int:
    """Write pieces one after another into a shared file; return the end offset."""
    for piece in pieces:
        left = memoryview(piece)
        while left:
            written = os.pwrite(file, left, start)
            left, start = left[written:], start + written
    return start
