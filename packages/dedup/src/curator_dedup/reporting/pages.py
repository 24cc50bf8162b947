"""The report as one HTML file, which needs nothing else and no network."""

from collections import Counter
from collections.abc import Iterator
from html import escape

from curator_core.reporting.figures import count, share
from curator_core.reporting.fragments import facts_table, figures_table, page, section

from curator_dedup.blocks import is_parquet
from curator_dedup.reporting.curves import Curve
from curator_dedup.reporting.differences import marked
from curator_dedup.reporting.looking import Place
from curator_dedup.reporting.summaries import Pair, Summary

MOST_ROWS = 30

_STYLE = """
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin: .5rem 0 1.5rem }
.pair pre { margin: .2rem 0; max-height: 22rem; overflow: auto; font-size: .85rem }
.pair small { overflow-wrap: anywhere }
mark { background: #fc68; color: inherit; padding: 0 1px }
.curve { max-width: 40rem; width: 100%; font-size: 11px }
.curve line { stroke: var(--line) } .curve text { fill: currentColor }
.curve polyline { fill: none; stroke: var(--bar); stroke-width: 2.5 }
.curve .mark { stroke: var(--bad); stroke-dasharray: 5 4 }
@media (max-width: 40rem) {
  .pair { grid-template-columns: 1fr }
  .pair pre { max-height: 14rem }
  .figures td { overflow-wrap: anywhere } .figures .bar { width: 3rem }
}
"""


def render(summary: Summary) -> str:
    """Whatever comes from data is escaped."""
    parts = [
        f"<h1>{escape(summary.name)}</h1>{_counts(summary)}",
        section("Sizes of clusters", _sizes(summary.sizes)),
        section("Duplicates by file", _files(summary)),
        section("Duplicates by domain", _domains(summary)),
        section("Which documents are compared", _curve(summary.curve)),
        section("Examples", "".join(map(_pair, summary.pairs))),
    ]
    return page(f"{summary.name}: duplicates", "".join(parts), _STYLE)


def _counts(summary: Summary) -> str:
    rows = [(name.replace("_", " "), count(value)) for name, value in summary.counts.items()]
    documents = summary.counts.get("documents", 0)
    told = f"{count(summary.duplicates)} of {count(documents)} documents are duplicates"
    percent = share(summary.duplicates, documents)
    return f'<p class="good">{told}{f" ({percent})" if percent else ""}</p>{facts_table(rows)}'


def _bar(part: float, most: float) -> str:
    percent = 100 * part / most if most else 0
    return f'<span class="bar"><i style="width:{percent:.1f}%"></i></span>'


def _sizes(sizes: Counter[int]) -> str:
    bins = list(_bins(sizes))
    most = max((clusters for _, clusters, _ in bins), default=0)
    rows = [
        [label, count(clusters), count(documents), _bar(clusters, most)]
        for label, clusters, documents in bins
    ]
    return figures_table(("documents in a cluster", "clusters", "documents", ""), rows)


def _bins(sizes: Counter[int]) -> Iterator[tuple[str, int, int]]:
    """Sizes up to 8 one by one, then in doubling steps."""
    low, high = 1, 1
    largest = max(sizes, default=0)
    while low <= largest:
        here = {size: number for size, number in sizes.items() if low <= size <= high}
        if here:
            label = str(low) if low == high else f"{low:,} to {high:,}"
            documents = sum(size * number for size, number in here.items())
            yield label, sum(here.values()), documents
        low, high = high + 1, high + 1 if high < _ONE_BY_ONE else 2 * high


_ONE_BY_ONE = 8


def _files(summary: Summary) -> str:
    listed = summary.duplicates_by_file.most_common(MOST_ROWS)
    most = listed[0][1] if listed else 0
    rows = [
        [escape(file), count(number), count(summary.removed_by_file[file]), _bar(number, most)]
        for file, number in listed
    ]
    table = figures_table(("file", "duplicates", "removed", ""), rows)
    return table + _more(len(summary.duplicates_by_file), "files")


def _more(number: int, things: str) -> str:
    return f"<p>and {count(number - MOST_ROWS)} more {things}</p>" if number > MOST_ROWS else ""


def _domains(summary: Summary) -> str:
    listed = summary.domains.most_common(MOST_ROWS)
    if not listed:
        return ""
    told = (
        f"<p>Of all {count(summary.duplicates)} duplicates.</p>"
        if summary.looked_at == summary.duplicates
        else f"<p>Of a sample of {count(summary.looked_at)} of {count(summary.duplicates)} "
        "duplicates.</p>"
    )
    rows = [
        [
            escape(domain),
            count(number),
            share(number, summary.looked_at),
            _bar(number, listed[0][1]),
        ]
        for domain, number in listed
    ]
    table = figures_table(("domain", "duplicates", "share", ""), rows)
    return told + table + _more(len(summary.domains), "domains")


def _curve(curve: Curve | None) -> str:
    if curve is None:
        return ""
    rows = [[f"{s:.1f}", f"{100 * curve.probability(s):.2f} %"] for s in _MARKS]
    told = (
        f"<p>Two documents are compared if they share one of {curve.bands} bands of {curve.rows} "
        f"minhashes. That is so for {100 * curve.probability(curve.threshold):.0f} % of those with "
        f"a similarity of {curve.threshold:.2f}, for nearly all above and for few below.</p>"
    )
    return told + curve.svg() + figures_table(("similarity", "compared"), rows)


_MARKS = (0.5, 0.6, 0.7, 0.8, 0.9)


def _pair(pair: Pair) -> str:
    texts = marked(*pair.texts)
    titles = ("compared with", "duplicate")
    sides = "".join(
        f"<div><b>{title}</b> <small>{escape(place.file)}, {_unit(place)} {place.row:,}</small>"
        f"<pre>{text}</pre></div>"
        for title, place, text in zip(titles, pair.places, texts, strict=True)
    )
    cluster = f"cluster {escape(pair.cluster_id)} of {count(pair.size)} documents"
    return f'<small>{cluster}</small><div class="pair">{sides}</div>'


def _unit(place: Place) -> str:
    return "row" if is_parquet(place.file) else "byte"
