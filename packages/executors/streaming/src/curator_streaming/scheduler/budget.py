"""The byte budget: bytes in use at each boundary between steps, and their limits."""

from curator_streaming.scheduler.resources import NO_LIMIT
from curator_streaming.scheduler.settings import Settings

_BOUNDARY_SHARE = 0.6
"""The share of all bytes that may wait at one boundary."""


class ByteBudget:
    """Bytes that wait, are being processed or are expected.

    Boundary i is in front of stage i; the last one holds final outputs. The nearer a step is to the
    sources, the earlier its room for outputs ends, so that tasks under way can always be finished.
    """

    def __init__(self, settings: Settings, length: int) -> None:
        total = float(settings.max_queued_bytes)
        share = total * (_BOUNDARY_SHARE if length > 1 else 1.0)
        self.used = 0
        self.peak = 0
        self.at_boundary = [0] * (length + 1)
        if settings.has_barriers:
            self.step_limits = [float(NO_LIMIT)] * length
            self.boundary_limits = [*self.step_limits, share]
        else:
            self.step_limits = [total * (0.5 + 0.5 * (i + 1) / length) for i in range(length)]
            self.boundary_limits = [share] * (length + 1)

    def charge(self, boundary: int, size: int) -> None:
        self.used += size
        self.at_boundary[boundary] += size
        if self.used > self.peak:
            self.peak = self.used

    def free_for(self, last: int) -> float:
        """Return the bytes left for outputs of the stage at `last`; negative if over the limit."""
        return min(
            self.step_limits[last] - self.used,
            self.boundary_limits[last + 1] - self.at_boundary[last + 1],
        )

    def fits(self, last: int, share: float) -> bool:
        """Whether the outputs of the stage at `last` are within this share of their limits."""
        return (
            self.used <= share * self.step_limits[last]
            and self.at_boundary[last + 1] <= share * self.boundary_limits[last + 1]
        )

    @property
    def undelivered(self) -> int:
        """Bytes of final outputs that the consumer has not taken."""
        return self.at_boundary[-1]

    @property
    def is_consumer_slow(self) -> bool:
        return self.undelivered > 0.5 * self.boundary_limits[-1]
