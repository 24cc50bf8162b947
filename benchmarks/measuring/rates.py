"""Rates: how fast tasks came out, from the moments at which each of them was done."""

from bisect import bisect_left
from collections.abc import Sequence

WINDOW_S = 1.0
LASTING_S = 5.0
STEP_S = 0.1


def steady_rate(ends: Sequence[float], since: float = 0.1) -> float:
    """Tasks per second between the first and the last tenth of them, or since another part."""
    ordered = sorted(ends)
    first, last = int(len(ordered) * since), int(len(ordered) * 0.9) - 1
    if last <= first:
        return 0.0
    return (last - first) / max(ordered[last] - ordered[first], 1e-9)


def settled_after(ends: Sequence[float], since: float, wanted: float) -> float | None:
    """Seconds from `since` until each second of the next five has the wanted rate.

    None where that never comes. Windows that would reach beyond the last task are left out.
    """
    ordered = sorted(ends)
    moment = since
    while moment + WINDOW_S + LASTING_S <= ordered[-1]:
        if _lasts(ordered, moment, wanted):
            return moment - since
        moment += STEP_S
    return None


def _lasts(ordered: Sequence[float], moment: float, wanted: float) -> bool:
    starts = (moment + STEP_S * step for step in range(int(LASTING_S / STEP_S) + 1))
    return all(_rate(ordered, start) >= wanted for start in starts)


def _rate(ordered: Sequence[float], start: float) -> float:
    return (bisect_left(ordered, start + WINDOW_S) - bisect_left(ordered, start)) / WINDOW_S
