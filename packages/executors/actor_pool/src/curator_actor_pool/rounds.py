"""Rounds: how many sources go through the stages together, from one barrier to the next."""

import sys

_GROWTH = 4
EVERYTHING = sys.maxsize


class Rounds:
    """The first round is one source: what cannot work fails at once, and the first output is early.

    Then they grow, as long as what lies between two stages fits into `room` bytes, and a round
    takes no longer than `seconds`. With `is_batch` there is but one, of everything.
    """

    def __init__(self, room: float, seconds: float, *, is_batch: bool) -> None:
        self.count = EVERYTHING if is_batch else 1
        """How many sources the next round takes."""
        self.room = EVERYTHING if is_batch else room
        self._seconds = seconds
        self._is_batch = is_batch

    def ended(self, sources: int, peak_bytes: float, seconds: float) -> None:
        """A round of so many sources had that many bytes between two stages, and took so long."""
        if self._is_batch or not sources:
            return
        wanted = float(sources * _GROWTH)
        if peak_bytes:
            wanted = min(wanted, sources * self.room / peak_bytes)
        if seconds:
            wanted = min(wanted, sources * self._seconds / seconds)
        self.count = max(1, int(wanted))
