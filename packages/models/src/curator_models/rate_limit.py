"""Rate limits: requests per minute, shared by the threads of a worker."""

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Lets threads continue one at a time, evenly spread over each minute."""

    def __init__(
        self,
        per_minute: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval_s = 60.0 / per_minute if per_minute else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next_turn = 0.0

    def wait(self) -> None:
        """Block until it is this thread's turn."""
        if not self._interval_s:
            return
        with self._lock:
            now = self._clock()
            turn = max(now, self._next_turn)
            self._next_turn = turn + self._interval_s
        if turn > now:
            self._sleep(turn - now)
