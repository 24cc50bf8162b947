"""Messages: what a worker and the process beside it tell each other, and bytes handed over."""

import json
import os
from collections.abc import Iterable
from typing import IO, Any


def send(stream: IO[bytes], message: Any) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def received(stream: IO[bytes]) -> Any:
    """The next message, or None where the other side is gone, maybe in the middle of a word."""
    line = stream.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def put(file: int, pieces: Iterable[Any], start: int) -> int:
    """Write pieces behind each other into a file that both sides have; where they end."""
    for piece in pieces:
        left = memoryview(piece)
        while left:
            written = os.pwrite(file, left, start)
            left, start = left[written:], start + written
    return start
