"""Waiting for what happens soon, however busy the machine is."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], limit_s: float = 60.0) -> bool:
    """Return whether the condition is met within the limit; return as soon as it is."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
