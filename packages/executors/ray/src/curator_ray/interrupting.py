"""Interrupting: Ctrl-C or SIGTERM while Ray starts is heard once it has.

A Ray in the midst of which an exception is raised ends this process with a segmentation fault.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

HURRIED_S = 4.0
"""How long workers may take to tear down once a run was asked to stop and its time is over."""


@contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """Heed the first signal when it is over, and more of them at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if len(held) > 1:
            before[number](number, frame)

    handlers: dict[int, Any] = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)
