"""Limits from the values of a sample: what a share of them is below or above."""

from collections.abc import Callable, Sequence
from math import ceil, floor, isfinite, log10
from typing import Literal

_MOST_DIGITS = 9
"""Digits after the point; what is smaller counts as zero."""


def finite(values: Sequence[float | None]) -> list[float]:
    """Return the values that are known, sorted."""
    return sorted(float(value) for value in values if value is not None and isfinite(value))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the sorted values are below."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def lower_limit(ordered: Sequence[float], share: float, *, whole: bool = False) -> float | None:
    """Return a round limit that at most this share is below; None if nothing is below it."""
    if not ordered:
        return None
    limit = _rounded(quantile(ordered, share), floor, whole=whole)
    return limit if ordered[0] < limit else None


def upper_limit(ordered: Sequence[float], share: float, *, whole: bool = False) -> float | None:
    """Return a round limit that at most this share is above; None if nothing is above it."""
    if not ordered:
        return None
    limit = _rounded(quantile(ordered, 1 - share), ceil, whole=whole)
    return limit if ordered[-1] > limit else None


def outer_limit(ordered: Sequence[float], side: Literal["low", "high"]) -> float:
    """Return a round limit that no value is beyond."""
    if side == "low":
        return _rounded(ordered[0], floor, whole=False)
    return _rounded(ordered[-1], ceil, whole=False)


def _rounded(value: float, rounding: Callable[[float], float], *, whole: bool) -> float:
    """Round to two digits, away from the middle of the values."""
    if not value:
        return 0
    digits = min(_MOST_DIGITS, 1 - floor(log10(abs(value))))
    if whole:
        digits = min(0, digits)
    scale = 10.0**digits
    found = rounding(round(value * scale, 9)) / scale
    return int(found) if whole or found == int(found) else round(found, max(0, digits))


def percent(share: float) -> str:
    """Format a share: `5 %`, `0.4 %`."""
    value = 100 * share
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.5 or value == int(value) else f"{value:.1f} %"


def typical(ordered: Sequence[float]) -> str:
    """Return the range of the middle half: `90 to 240`."""
    low, high = (f"{quantile(ordered, share):,.4g}" for share in (0.25, 0.75))
    return low if low == high else f"{low} to {high}"
