"""How many tasks go into one call, and how many calls a worker has at a time."""

from math import ceil

_CALL_S = 0.05
"""Work per call, if tasks are that small."""

_CALL_BYTES = 16 << 20
_LONG_CALL_S = 0.5
"""Longer calls gain nothing from another one that waits behind them."""

_NEW_WEIGHT = 0.5


class CallSizer:
    """Learns from the calls of one stage how long and how large its tasks are."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._task_s: float | None = None
        self._task_bytes = 0.0

    def learn(self, tasks: int, seconds: float, nbytes: int) -> None:
        """Record a call: its tasks, its duration, and the size of its outputs."""
        task_s, task_bytes = seconds / tasks, nbytes / tasks
        if self._task_s is None:
            self._task_s, self._task_bytes = task_s, task_bytes
            return
        self._task_s += _NEW_WEIGHT * (task_s - self._task_s)
        self._task_bytes += _NEW_WEIGHT * (task_bytes - self._task_bytes)

    def tasks_per_call(self, waiting: int, waiting_bytes: float, workers: int) -> int:
        """Return the size of the next call, in whole batches; it shrinks towards the end."""
        largest = min(self._limit_by_time(), self._limit_by_bytes(waiting_bytes / max(1, waiting)))
        fair = ceil(waiting / (2 * max(1, workers)))
        batches = max(1, min(largest, fair) // self._batch_size)
        return batches * self._batch_size

    def calls_per_worker(self, slots: int, waiting: int, workers: int) -> int:
        """Return how many calls a worker may have: one, if another may be free before it."""
        if self._task_s is None:
            return 1
        is_short = self._task_s * self._batch_size <= _LONG_CALL_S
        return slots if is_short or waiting > 4 * workers * self._batch_size else 1

    def max_calls(self, waiting: int) -> int:
        return ceil(waiting / self._batch_size)

    def _limit_by_time(self) -> int:
        if self._task_s is None:
            return 1
        return max(1, int(_CALL_S / max(self._task_s, 1e-7)))

    def _limit_by_bytes(self, input_bytes: float) -> int:
        return max(1, int(_CALL_BYTES / max(1.0, input_bytes, self._task_bytes)))
