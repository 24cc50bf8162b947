"""Score histograms of kept and dropped records, with bins that merge exactly.

The bins are the same everywhere, so the counts of many workers add up exactly: a bin is the first
16 bits of a double, which makes 16 bins from each power of two to the next.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from struct import pack, unpack
from typing import Any, Self

from curator_core.model.tasks import Task

Bins = Mapping[int, int]
"""Number of scores in each bin."""

_KEY = "curator_core.model.scores"
_TOP = 3 if sys.byteorder == "little" else 0
_SMALLEST, _LARGEST = 2.0**-30, 2.0**60
_MINUS = -0x8000


def _number_of(value: float) -> int:
    (number,) = unpack("<h", pack("<d", value)[6:])
    return int(number)


_LEAST, _MOST = _number_of(_SMALLEST), _number_of(_LARGEST)
_INFINITE = _number_of(float("inf"))


def bins_of(values: Any) -> dict[int, int]:
    """Return the bins of a list of numbers or an array of doubles, without infinity and NaN."""
    try:
        doubles = memoryview(values if _holds_doubles(values) else array("d", values))
    except (TypeError, OverflowError):
        doubles = memoryview(array("d", _numbers_in(values)))
    return merge_outer_bins(Counter(doubles.cast("B").cast("h")[_TOP::4].tolist()))


def merge_outer_bins(bins: Bins) -> dict[int, int]:
    """Return bins without infinity and NaN; very small and very large numbers share outer bins."""
    found: dict[int, int] = {}
    for number, times in bins.items():
        sign = _MINUS if number < 0 else 0
        size = number - sign
        if size < _INFINITE:
            kept = 0 if size < _LEAST else min(size, _MOST) + sign
            found[kept] = found.get(kept, 0) + times
    return found


def _holds_doubles(values: Any) -> bool:
    """Return whether the values can be read as doubles without a copy."""
    try:
        view = memoryview(values)
    except TypeError:
        return False
    return view.format == "d" and view.c_contiguous


def _numbers_in(values: Iterable[Any]) -> Iterator[float]:
    """Yield the values that fit in a double. Rules may return None or larger numbers."""
    for value in values:
        try:
            yield float(value)
        except (TypeError, ValueError, OverflowError):
            continue


def edges_of(number: int) -> tuple[float, float]:
    """Return the lower and upper edge of a bin."""
    if not number:
        return 0.0, _SMALLEST
    size = number - _MINUS if number < 0 else number
    low, high = (unpack("<d", bytes(6) + pack("<h", one))[0] for one in (size, size + 1))
    return (-high, -low) if number < 0 else (low, high)


@dataclass(frozen=True)
class Scores:
    """Scores of kept and of dropped records. Immutable, because they are shared."""

    kept: Bins = field(default_factory=dict)
    dropped: Bins = field(default_factory=dict)

    @classmethod
    def of(cls, kept: Any, dropped: Any = ()) -> Self:
        """Return the histograms of lists of numbers or arrays of doubles."""
        return cls(bins_of(kept), bins_of(dropped))

    def plus(self, other: "Scores") -> "Scores":
        return Scores(add_bins(self.kept, other.kept), add_bins(self.dropped, other.dropped))

    def __bool__(self) -> bool:
        return bool(self.kept or self.dropped)

    def to_json(self) -> dict[str, str]:
        """Return the nonempty histograms, as `16368:12 16369:3`."""
        both = {"kept": self.kept, "dropped": self.dropped}
        return {name: bins_to_text(bins) for name, bins in both.items() if bins}

    @classmethod
    def from_json(cls, facts: Mapping[str, str]) -> Self:
        return cls(**{name: bins_from_text(text) for name, text in facts.items()})


def bins_to_text(bins: Bins) -> str:
    """Return bins as `16368:12 16369:3`."""
    return " ".join(f"{number}:{bins[number]}" for number in sorted(bins))


def bins_from_text(text: str) -> dict[int, int]:
    pairs = (pair.split(":") for pair in text.split())
    return {int(number): int(times) for number, times in pairs}


def add_bins(some: Bins, more: Bins) -> Bins:
    if not more or not some:
        return some or more
    total = dict(some)
    for number, times in more.items():
        total[number] = total.get(number, 0) + times
        if not total[number]:
            del total[number]
    return total


def attach_scores(task: Task[Any], name: str, scores: Scores) -> None:
    """Record the scores of a batch, for the report of the stage that returns `task`.

    They count even if `task` is empty.
    """
    if scores:
        task.derived.setdefault(_KEY, {})[name] = scores


def take_scores(task: Task[Any]) -> Mapping[str, Scores]:
    """Return the scores that the stage recorded, once: they are removed."""
    recorded: Mapping[str, Scores] = task.derived.pop(_KEY, None) or {}
    return recorded
