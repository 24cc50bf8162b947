"""Statistics of data for display: tables, and plots without scripts."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from curator_core.io.statistics.distributions import GROWTH, Distribution, middle_of
from curator_core.io.statistics.summaries import ColumnSummary, Summary
from curator_core.io.statistics.values import ValueCounts
from curator_core.reporting.figures import count, share

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


def as_html(summary: Summary) -> str:
    """Return a plot and a table for each column."""
    return "".join(_column(name, column) for name, column in summary.columns.items())


def _column(name: str, column: ColumnSummary) -> str:
    parts = [f"<h3>{escape(name)}</h3>"]
    if column.numbers.count:
        parts += [_histogram(column.numbers), _figures(column.numbers)]
    if column.values.total:
        parts.append(_values(column.values))
    left = [(column.missing, "missing"), (column.numbers.not_finite, "not finite")]
    told = [f"{count(number)} {what}" for number, what in left if number]
    return "".join([*parts, f"<p>{', '.join(told)}</p>" if told else ""])


def figure(value: float) -> str:
    """Return a number with its significant digits only."""
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _figures(numbers: Distribution) -> str:
    cells = [("mean", numbers.mean), ("least", numbers.least)]
    cells += [(f"{part:.0%}", numbers.quantile(part)) for part in QUANTILES]
    cells.append(("most", numbers.most))
    head = "".join(f"<th>{name}</th>" for name, _ in cells)
    body = "".join(f"<td>{figure(value)}</td>" for _, value in cells)
    return f'<table class="figures"><tr>{head}</tr><tr>{body}</tr></table>'


def _values(values: ValueCounts) -> str:
    shown = values.top(MOST_SHOWN)
    rest = values.total - sum(times for _, times in shown)
    most = max((times for _, times in shown), default=1)
    rows = [
        f"<tr><td>{escape(name) or '(empty)'}</td><td>{count(times)}</td>"
        f"<td>{share(times, values.total)}</td>"
        f'<td><span class="bar"><i style="width:{100 * times / most:.1f}%"></i></span></td></tr>'
        for name, times in shown
    ]
    if rest:
        rows.append(f"<tr><td>others</td><td>{count(rest)}</td>")
        rows.append(f"<td>{share(rest, values.total)}</td><td></td></tr>")
    return f'<table class="figures">{"".join(rows)}</table>'


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


def _histogram(numbers: Distribution) -> str:
    shown = bars(numbers)
    most = max(height for _, _, height in shown)
    width = _WIDTH / len(shown)
    drawn = "".join(_bar(i * width, width, bar, most) for i, bar in enumerate(shown) if bar[2])
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 18}" width="{_WIDTH}" role="img" '
        f'style="max-width:100%">{drawn}{_axis(shown)}</svg>'
    )


def _bar(left: float, width: float, bar: tuple[float, float, int], most: int) -> str:
    start, end, height = bar
    tall = max(1.0, _HEIGHT * height / most)
    return (
        f'<rect x="{left:.1f}" y="{_HEIGHT - tall:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{tall:.1f}" fill="var(--good)">'
        f"<title>{figure(start)} to {figure(end)}: {count(height)}</title></rect>"
    )


def _axis(shown: Sequence[tuple[float, float, int]]) -> str:
    """Label the first bar, the middle and the last one."""
    places = [(0, "start", shown[0][0]), (_WIDTH / 2, "middle", shown[len(shown) // 2][0]),
              (_WIDTH, "end", shown[-1][1])]  # fmt: skip
    return "".join(
        f'<text x="{x}" y="{_HEIGHT + 14}" text-anchor="{anchor}" font-size="12" '
        f'fill="currentColor">{figure(value)}</text>'
        for x, anchor, value in places
    )
