"""Threads take turns at the given rate."""

from curator_models.rate_limit import RateLimiter


class Clock:
    """Time that passes only during `sleep`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def limiter(per_minute: float | None, clock: Clock) -> RateLimiter:
    return RateLimiter(per_minute, lambda: clock.now, clock.sleep)


def test_requests_are_spread_evenly() -> None:
    clock = Clock()
    limit = limiter(120, clock)
    for _ in range(4):
        limit.wait()
    assert clock.slept == [0.5, 0.5, 0.5]


def test_idle_time_is_not_made_up_for() -> None:
    clock = Clock()
    limit = limiter(60, clock)
    limit.wait()
    clock.now += 10
    limit.wait()
    limit.wait()
    assert clock.slept == [1.0]


def test_without_a_limit_requests_do_not_wait() -> None:
    clock = Clock()
    limit = limiter(None, clock)
    for _ in range(3):
        limit.wait()
    assert clock.slept == []
