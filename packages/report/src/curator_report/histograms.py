"""Histograms: a rule's scores with its limits, and the data before and after a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10
from typing import ClassVar

from curator_core.model.scores import Bins, Scores, edges_of

from curator_report.html import render_part

BINS = 48
_WIDTH, _HEIGHT, _FOOT, _TOP = 640, 150, 26, 26
_LEFT = 64
"""Room for the numbers at the vertical axis."""


@dataclass
class HistogramScores:
    """The scores of the records that a rule kept, and of those it dropped."""

    kept: list[float] = field(default_factory=list)
    dropped: list[float] = field(default_factory=list)

    @property
    def is_wide(self) -> bool:
        """Return whether a logarithmic scale fits better, as for sizes or sharpness."""
        every = sorted(self.finite)
        low, high = every[len(every) // 20], every[-1 - len(every) // 20]
        return every[0] > 0 and high > 30 * low

    @property
    def finite(self) -> list[float]:
        return [score for score in (*self.kept, *self.dropped) if isfinite(score)]


@dataclass(frozen=True)
class Scale:
    """Maps values to horizontal positions."""

    low: float
    high: float
    by_powers: bool
    is_cut: bool = False
    """Whether values beyond the end are shown at the end."""

    def at(self, value: float) -> float:
        """Return the position of a value: 0 to 1, or outside of it."""
        low, high, here = self.low, self.high, value
        if self.by_powers:
            low, high, here = log10(low), log10(high), log10(max(value, 1e-12))
        return (here - low) / (high - low) if high > low else 0.5

    def value(self, place: float) -> float:
        if self.by_powers:
            return float(10 ** (log10(self.low) + place * (log10(self.high) - log10(self.low))))
        return self.low + place * (self.high - self.low)


def number(value: float) -> str:
    """Return three significant digits; thousands get commas instead of an exponent."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"


@dataclass(frozen=True)
class ScoreBar:
    """A bar of kept or dropped scores, or of the data before or after a run."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    times: float


@dataclass(frozen=True)
class Tick:
    """A text at a horizontal position."""

    x: float
    anchor: str
    text: str


@dataclass(frozen=True)
class Histogram:
    """A drawing of bars, with lines at the limits; `highest` is the height of the whole drawing."""

    bars: Sequence[ScoreBar]
    limits: Sequence[Tick]
    ticks: Sequence[Tick]
    label: str = ""
    highest: float = 0.0

    width: ClassVar = _WIDTH
    height: ClassVar = _HEIGHT
    top: ClassVar = _TOP
    foot: ClassVar = _FOOT
    left: ClassVar = _LEFT

    @property
    def top_text(self) -> str:
        """Return the number at the top of the vertical axis: `532`, `12k`, `3.4M`."""
        for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
            if self.highest >= limit:
                return f"{self.highest / (1e3 if unit == 'k' else limit):.3g}{unit}"
        return f"{self.highest:.0f}" if self.highest >= 10 else number(self.highest)

    def to_html(self) -> str:
        return render_part("plots", "histogram", self)


def legend() -> str:
    """Return the legend of all histograms as HTML."""
    return render_part("plots", "legend")


def histogram(scores: HistogramScores, limits: Sequence[float]) -> str:
    """Return a histogram as HTML; "" without scores."""
    every = scores.finite
    if not every:
        return ""
    scale = _scale(every, limits, scores.is_wide)
    kept, dropped = _counts(scores.kept, scale), _counts(scores.dropped, scale)
    return _draw(kept, dropped, scale, limits).to_html()


def binned_histogram(scores: Scores, limits: Sequence[float], label: str = "") -> Histogram | None:
    """Return the histogram of binned scores; None without scores."""
    every = sorted(_spans(scores))
    if not every:
        return None
    scale = _scale_of(every, limits)
    kept, dropped = _spread(scores.kept, scale), _spread(scores.dropped, scale)
    return _draw(kept, dropped, scale, limits, label)


def _scale(values: Sequence[float], limits: Sequence[float], by_powers: bool) -> Scale:
    edges = [*values, *(limit for limit in limits if limit > 0 or not by_powers)]
    return Scale(min(edges), max(edges), by_powers)


Span = tuple[float, float, int]
"""Start, end and count."""


def _spans(scores: Scores) -> Iterator[Span]:
    for bins in (scores.kept, scores.dropped):
        for place, times in bins.items():
            yield *edges_of(place), times


def _scale_of(spans: Sequence[Span], limits: Sequence[float]) -> Scale:
    """Return a scale for nearly all scores, without outliers, and for the limits near them."""
    low, high, end = spans[0][0], _end_of(spans, 0.998), spans[-1][1]
    if low >= 0 and spans[-1][0] == 1:  # shares: the bin from 1 contains only exact ones
        high, end = min(high, 1.0), 1.0
    by_powers = low > 0 and _end_of(spans, 0.95) > 30 * _end_of(spans, 0.05)
    room = high - low
    near = [limit for limit in limits if low - room <= limit <= high + room or by_powers]
    if room <= abs(low) / 8 + 1e-6:  # all scores are nearly equal
        near = list(limits)
    edges = [low, high, *(limit for limit in near if limit > 0 or not by_powers)]
    return Scale(min(edges), max(edges), by_powers, max(edges) < end)


def _end_of(spans: Sequence[Span], part: float) -> float:
    """Return the value that this part of the scores does not exceed."""
    target, below = part * sum(times for _, _, times in spans), 0
    for _, end, times in spans:
        below += times
        if below >= target:
            return end
    return spans[-1][1]


def _spread(bins: Bins, scale: Scale) -> list[float]:
    """Return the height of each bar; one bin may extend over several bars."""
    counts = [0.0] * BINS
    for place, times in bins.items():
        start, end = (min(1.0, max(0.0, scale.at(edge))) * BINS for edge in edges_of(place))
        first, last = min(int(start), BINS - 1), min(int(end), BINS - 1)
        if first == last:
            counts[first] += times
            continue
        for bar in range(first, last + 1):
            inside = min(end, bar + 1) - max(start, bar)
            counts[bar] += times * inside / (end - start)
    return counts


def _draw(
    kept: Sequence[float],
    dropped: Sequence[float],
    scale: Scale,
    limits: Sequence[float],
    label: str = "",
) -> Histogram:
    most = max(one + other for one, other in zip(dropped, kept, strict=True))
    bars = [
        _bar(place, start, times, most, kind)
        for place, (below, above) in enumerate(zip(dropped, kept, strict=True))
        for kind, start, times in (("dropped", 0.0, below), ("kept", below, above))
        if times
    ]
    places = [(scale.at(limit), limit) for limit in limits]
    marks = [
        Tick(min(1.0, max(0.0, place)) * _WIDTH, "end" if place > 0.7 else "start", number(limit))
        for place, limit in places
        if -0.01 <= place <= 1.01
    ]
    return Histogram(bars, marks, list(_ticks(scale)), label, most)


def overlaid_histogram(before: Bins, after: Bins, label: str = "") -> Histogram | None:
    """Return the bars of `before`, with those of `after` in front; None if both are empty."""
    spans = sorted((*edges_of(place), times) for bins in (before, after)
                   for place, times in bins.items())  # fmt: skip
    if not spans:
        return None
    scale = _scale_of(spans, ())
    rows = {"before": _spread(before, scale), "after": _spread(after, scale)}
    most = max(max(row) for row in rows.values())
    bars = [
        _bar(place, 0.0, times, most, kind)
        for kind, row in rows.items()
        for place, times in enumerate(row)
        if times
    ]
    return Histogram(bars, [], list(_ticks(scale)), label, most)


def _ticks(scale: Scale) -> Iterator[Tick]:
    """Yield round numbers, and the end of the scale if values beyond it are shown there."""
    if not scale.high > scale.low:
        yield Tick(_WIDTH / 2, "middle", number(scale.low))
        return
    free = 1.0
    if scale.is_cut:
        free = 0.78
        yield Tick(_WIDTH, "end", f"≥ {number(scale.high)}")
    for value in _powers(scale) if scale.by_powers else _multiples(scale):
        place = scale.at(value)
        if -0.001 <= place <= free + 0.001:
            anchor = "start" if place < 0.06 else "end" if place > 0.94 else "middle"
            yield Tick(place * _WIDTH, anchor, number(value))


def _multiples(scale: Scale) -> Iterator[float]:
    """Yield about five multiples of 1, 2, 2.5 or 5 times a power of ten."""
    rough = (scale.high - scale.low) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first = ceil(scale.low / step - 1e-9)
    for place in range(first, floor(scale.high / step + 1e-9) + 1):
        yield round(place * step, 12)


def _powers(scale: Scale) -> Iterator[float]:
    """Yield at most six of the powers of ten, and the numbers between if there are only a few."""
    first, last = floor(log10(scale.low)), ceil(log10(scale.high))
    factors = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 3 else (1,)
    every = max(1, ceil((last - first) / 6))
    for power in range(first, last + 1, every):
        for factor in factors:
            yield factor * 10.0**power


def _counts(values: Sequence[float], scale: Scale) -> list[float]:
    counts = [0.0] * BINS
    for value in values:
        if isfinite(value):
            counts[min(BINS - 1, max(0, int(scale.at(value) * BINS)))] += 1
    return counts


def _bar(place: int, below: float, times: float, most: float, kind: str) -> ScoreBar:
    step = _WIDTH / BINS
    height = max(1.0, times / most * _HEIGHT)
    top = _HEIGHT - below / most * _HEIGHT - height
    return ScoreBar(kind, place * step + 0.5, top, step - 1, height, times)
