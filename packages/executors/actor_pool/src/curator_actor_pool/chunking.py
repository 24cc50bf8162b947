"""Chunking: how many tasks go into one call, and how many calls an actor has under way."""

from math import ceil

_CALL_S = 0.05
"""How much work goes into one call, where tasks are small enough."""

_CALL_BYTES = 16 << 20
_AHEAD_UP_TO_S = 0.5
"""Calls longer than this gain nothing by one that waits behind them."""

_WEIGHT = 0.5


class Chunks:
    """What was learnt of a stage's tasks; the first calls of a stage find that out."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._seconds: float | None = None
        self._bytes = 0.0

    def learn(self, tasks: int, seconds: float, nbytes: int) -> None:
        """A call of so many tasks took so long, and gave so much."""
        each, size = seconds / tasks, nbytes / tasks
        if self._seconds is None:
            self._seconds, self._bytes = each, size
            return
        self._seconds += _WEIGHT * (each - self._seconds)
        self._bytes += _WEIGHT * (size - self._bytes)

    def tasks(self, waiting: int, waiting_bytes: float, actors: int) -> int:
        """How many of those that wait go into the next call: less towards the end, in batches."""
        most = min(self._worth_a_call(), self._held_by_a_call(waiting_bytes / max(1, waiting)))
        fair = ceil(waiting / (2 * max(1, actors)))
        batches = max(1, min(most, fair) // self._batch_size)
        return batches * self._batch_size

    def ahead(self, slots: int, waiting: int, actors: int) -> int:
        """How many calls each actor may have; but one, as long as another might come free first."""
        if self._seconds is None:
            return 1
        is_short = self._seconds * self._batch_size <= _AHEAD_UP_TO_S
        return slots if is_short or waiting > 4 * actors * self._batch_size else 1

    def calls(self, waiting: int) -> int:
        """How many calls there could be at most."""
        return ceil(waiting / self._batch_size)

    def _worth_a_call(self) -> int:
        if self._seconds is None:
            return 1
        return max(1, int(_CALL_S / max(self._seconds, 1e-7)))

    def _held_by_a_call(self, each_bytes: float) -> int:
        return max(1, int(_CALL_BYTES / max(1.0, each_bytes, self._bytes)))
