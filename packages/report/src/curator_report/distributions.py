"""Distributions of length, language and scores, before and after a run."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from curator_core.model.contents import CHARACTERS, LANGUAGE, SECONDS, WORDS, Contents
from curator_core.model.formatting import count, share
from curator_core.model.scores import Bins, edges_of
from curator_core.run.totals import Amount, RunTotals

from curator_report.histograms import Histogram, number, overlaid_histogram

_MOST_VALUES = 12


@dataclass(frozen=True)
class DistributionFigure:
    """A histogram of the records written, in front of one of the records read."""

    title: str
    unit: str
    caption: str
    histogram: Histogram


@dataclass(frozen=True)
class ValueShare:
    """How many of the records have a value, before and after."""

    name: str
    before: str
    after: str
    percent_before: float
    percent_after: float


@dataclass(frozen=True)
class ValueFigure:
    """The most common values of a column, such as languages."""

    title: str
    rows: Sequence[ValueShare]
    hidden: int = 0


@dataclass(frozen=True)
class Distributions:
    """All distributions of a run. They are estimated from a sample of its records."""

    figures: Sequence[DistributionFigure] = ()
    values: Sequence[ValueFigure] = ()


def distributions(totals: RunTotals) -> Distributions:
    """Return the distributions of the records read and written that were measured."""
    before, after = totals.read, totals.written
    figures = [_figure(name, before, after) for name in _names(before, after)]
    languages = _values("Language", _counts(before.contents), _counts(after.contents))
    return Distributions([one for one in figures if one], [languages] if languages else [])


def _names(before: Amount, after: Amount) -> list[str]:
    """Return the names of the numbers, lengths first; words only where spaces separate them."""
    found = {name: None for amount in (before, after) for name in _numbers(amount)}
    hides_words = not (before.words or after.words)
    ranked = sorted(found, key=lambda name: name not in (CHARACTERS, WORDS, SECONDS))
    return [name for name in ranked if not (name == WORDS and hides_words)]


def _numbers(amount: Amount) -> Mapping[str, Bins]:
    return amount.contents.numbers if amount.contents else {}


def _figure(name: str, before: Amount, after: Amount) -> DistributionFigure | None:
    old = _scaled(_numbers(before).get(name, {}), before.records)
    new = _scaled(_numbers(after).get(name, {}), after.records)
    is_length = name in (CHARACTERS, WORDS, SECONDS)
    title = f"Length in {name}" if is_length else name
    caption = "; ".join(_medians(old, new, count if is_length else number))
    histogram = overlaid_histogram(old, new, f"{title}: {caption}")
    unit = f"{name} per record" if is_length else name
    return DistributionFigure(title, unit, caption, histogram) if histogram else None


def _scaled(bins: Bins, records: int) -> Bins:
    """Return the bins of a sample, scaled to the number of all records."""
    total = sum(bins.values())
    if not total or not records:
        return bins
    return {place: max(1, round(times * records / total)) for place, times in bins.items()}


def _medians(before: Bins, after: Bins, text: Callable[[float], str]) -> Iterator[str]:
    for bins, name in ((before, "read"), (after, "written")):
        if bins:
            low, median, high = (text(quantile(bins, part)) for part in (0.05, 0.5, 0.95))
            yield f"{name}: median {median}, 90 % from {low} to {high}"


def quantile(bins: Bins, part: float) -> float:
    """Return the value in the middle of the bin in which the quantile is."""
    rank, below = part * sum(bins.values()), 0
    ordered = sorted((edges_of(place), times) for place, times in bins.items())
    for (low, high), times in ordered:
        below += times
        if below >= rank:
            return (low + high) / 2
    return ordered[-1][0][1]


def _counts(contents: Contents | None) -> Mapping[str, int]:
    return contents.values.get(LANGUAGE, {}) if contents else {}


def _values(title: str, before: Mapping[str, int], after: Mapping[str, int]) -> ValueFigure | None:
    total_before, total_after = sum(before.values()), sum(after.values())
    shown = [name for name, _ in (Counter(before) | Counter(after)).most_common()]
    rows = [
        ValueShare(
            name,
            _share(before.get(name, 0), total_before),
            _share(after.get(name, 0), total_after),
            100 * before.get(name, 0) / (total_before or 1),
            100 * after.get(name, 0) / (total_after or 1),
        )
        for name in shown[:_MOST_VALUES]
    ]
    return ValueFigure(title, rows, max(0, len(shown) - len(rows))) if rows else None


def _share(part: int, of: int) -> str:
    return share(part, of) if of else ""


def most_common(counts: Mapping[str, int], least_share: float = 0.01) -> list[str]:
    """Return the values that at least this share of the records have, the most common first."""
    total = sum(counts.values())
    ranked = sorted(counts, key=lambda name: -counts[name])
    return [name for name in ranked if counts[name] >= least_share * total]
