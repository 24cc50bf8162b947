"""Threads take turns; nobody waits who need not."""

from curator_models.pacing import Pace


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def test_requests_are_spread_evenly() -> None:
    clock = Clock()
    pace = Pace(120, lambda: clock.now, clock.sleep)
    for _ in range(4):
        pace.wait()
    assert clock.slept == [0.5, 0.5, 0.5]


def test_who_was_away_does_not_catch_up() -> None:
    clock = Clock()
    pace = Pace(60, lambda: clock.now, clock.sleep)
    pace.wait()
    clock.now += 10
    pace.wait()
    pace.wait()
    assert clock.slept == [1.0]


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    pace = Pace(None, lambda: clock.now, clock.sleep)
    for _ in range(3):
        pace.wait()
    assert clock.slept == []
