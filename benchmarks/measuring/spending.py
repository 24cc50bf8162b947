"""Spending: CPU seconds of pieces of work, and which of two spends fewer."""

import resource
from collections.abc import Callable

from measuring.figures import Figure

_CLOSE = 2.0
"""Below it, a tenth decides whether a target is met, and is told to a hundredth."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """What it takes, with the processes that it starts and waits for."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    whole = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in whole)


def faster(
    what: str, least: float, seconds: dict[str, float], every: dict[str, list[float]], *, peer: str
) -> Figure:
    """How many times as much the peer spends, by the medians of what `in_turns` measured."""
    ratio = seconds[peer] / seconds["ours"]
    told = f"{ratio:.2f}" if least < _CLOSE else f"{ratio:.1f}"
    value = f"{told}x ({seconds[peer]:.2f} against {seconds['ours']:.2f} CPU-s)"
    return Figure(what, f">= {least:g}x", value, ratio >= least, {"seconds": every})
