"""Statistics of data for display: numbers, frequent values and plots."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator_core.io.statistics import (
    GROWTH,
    ColumnSummary,
    Distribution,
    Summary,
    ValueCounts,
    middle_of,
)
from curator_core.model.formatting import count, share

from curator_report.histograms import Tick

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOST_SHOWN = 20
_BARS = 60
_WIDTH, _HEIGHT = 600, 120


def facts_of(summary: Summary) -> dict[str, Any]:
    """Return the most useful statistics as JSON."""
    columns = {name: dict(_facts(column)) for name, column in summary.columns.items()}
    return {"columns": columns}


def _facts(column: ColumnSummary) -> Iterator[tuple[str, Any]]:
    numbers, values = column.numbers, column.values
    yield "missing", column.missing
    if numbers.count or numbers.not_finite:
        yield "count", numbers.count
        yield "not_finite", numbers.not_finite
    if numbers.count:
        yield "mean", numbers.mean
        yield "deviation", numbers.deviation
        yield "least", numbers.least
        yield "most", numbers.most
        yield "total", numbers.total
        yield "quantiles", {f"{part:g}": numbers.quantile(part) for part in QUANTILES}
    if values.total:
        yield "values", dict(values.top(100))
        yield "different", len(values.counts)
        yield "others", values.total - sum(times for _, times in values.top(100))


@dataclass(frozen=True)
class DataBar:
    """A bar of a histogram."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class DistributionPlot:
    """A histogram of the numbers in a column."""

    bars: Sequence[DataBar]
    ticks: Sequence[Tick]

    width: ClassVar = _WIDTH
    height: ClassVar = _HEIGHT


@dataclass(frozen=True)
class ValueRow:
    """A frequent value, or all others together, which have no bar."""

    name: str
    times: int
    share: str
    percent: float | None = None


@dataclass(frozen=True)
class ColumnFigures:
    """The statistics of a column as they are shown."""

    name: str
    distribution: DistributionPlot | None
    numbers: Mapping[str, str]
    values: Sequence[ValueRow]
    missing: str


def column_figures(summary: Summary) -> list[ColumnFigures]:
    """Return a plot, numbers and frequent values for each column."""
    return [_column(name, column) for name, column in summary.columns.items()]


def _column(name: str, column: ColumnSummary) -> ColumnFigures:
    has_numbers = bool(column.numbers.count)
    absent = [(column.missing, "missing"), (column.numbers.not_finite, "not finite")]
    return ColumnFigures(
        name,
        _plot(column.numbers) if has_numbers else None,
        dict(_numbers(column.numbers)) if has_numbers else {},
        list(_values(column.values)) if column.values.total else [],
        ", ".join(f"{count(number)} {what}" for number, what in absent if number),
    )


def figure(value: float) -> str:
    """Return a number with its significant digits only."""
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _numbers(numbers: Distribution) -> Iterator[tuple[str, str]]:
    yield "mean", figure(numbers.mean)
    yield "least", figure(numbers.least)
    for part in QUANTILES:
        yield f"{part:.0%}", figure(numbers.quantile(part))
    yield "most", figure(numbers.most)
    yield "sum", figure(numbers.total)


def _values(values: ValueCounts) -> Iterator[ValueRow]:
    shown = values.top(MOST_SHOWN)
    rest = values.total - sum(times for _, times in shown)
    most = max((times for _, times in shown), default=1)
    for name, times in shown:
        yield ValueRow(name or "(empty)", times, share(times, values.total), 100 * times / most)
    if rest:
        yield ValueRow("others", rest, share(rest, values.total))


def bars(numbers: Distribution) -> list[tuple[float, float, int]]:
    """Return start, end and height of each bar of a histogram.

    If all numbers are positive and span more than a factor of 10, neighbouring bins are merged;
    otherwise the range is divided into equal parts.
    """
    least, most = numbers.least, numbers.most
    if least > 0 and most / least > 10:
        return _wide_bars(numbers)
    width = (most - least) / _BARS or 1.0
    heights = [0] * _BARS
    for number, times in numbers.bins.items():
        place = int((middle_of(number) - least) / width)
        heights[min(max(place, 0), _BARS - 1)] += times
    return [
        (least + i * width, least + (i + 1) * width, height) for i, height in enumerate(heights)
    ]


def _wide_bars(numbers: Distribution) -> list[tuple[float, float, int]]:
    first, last = min(numbers.bins), max(numbers.bins)
    step = max(1, math.ceil((last - first + 1) / _BARS))
    heights = [0] * math.ceil((last - first + 1) / step)
    for number, times in numbers.bins.items():
        heights[(number - first) // step] += times
    half = GROWTH**0.5
    edges = [middle_of(first + i * step) / half for i in range(len(heights) + 1)]
    return [(edges[i], edges[i + 1], height) for i, height in enumerate(heights)]


def _plot(numbers: Distribution) -> DistributionPlot:
    shown = bars(numbers)
    most = max(height for _, _, height in shown)
    width = _WIDTH / len(shown)
    drawn = [_bar(i * width, width, bar, most) for i, bar in enumerate(shown) if bar[2]]
    ticks = [
        Tick(0, "start", figure(shown[0][0])),
        Tick(_WIDTH / 2, "middle", figure(shown[len(shown) // 2][0])),
        Tick(_WIDTH, "end", figure(shown[-1][1])),
    ]
    return DistributionPlot(drawn, ticks)


def _bar(left: float, width: float, bar: tuple[float, float, int], most: int) -> DataBar:
    start, end, times = bar
    height = max(1.0, _HEIGHT * times / most)
    title = f"{figure(start)} to {figure(end)}: {count(times)}"
    return DataBar(left, _HEIGHT - height, max(width - 1, 1), height, title)
