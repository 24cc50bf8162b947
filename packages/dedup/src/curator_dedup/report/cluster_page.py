"""The report on duplicates as one HTML file, without external resources."""

from html import escape

from curator_core.model.formatting import count, share
from curator_report.html import facts_table, figures_table, page, section

from curator_dedup.report.clusters import ClusterSummary, Pair
from curator_dedup.report.curve import BandCurve
from curator_dedup.report.html import MAX_ROWS, STYLE, bar, marked, more, sizes_table, unit

_SIZES = ("documents in a cluster", "clusters", "documents")


def render(summary: ClusterSummary) -> str:
    """Return the page. Everything that comes from data is escaped."""
    parts = [
        f"<h1>{escape(summary.name)}</h1>{_counts(summary)}",
        section("Sizes of clusters", sizes_table(_SIZES, summary.sizes)),
        section("Duplicates by file", _files(summary)),
        section("Duplicates by domain", _domains(summary)),
        section("Which documents are compared", _curve(summary.curve)),
        section("Verification", summary.verification.render() if summary.verification else ""),
        section("Examples", "".join(map(_pair, summary.pairs))),
    ]
    return page(f"{summary.name}: duplicates", "".join(parts), STYLE)


def _counts(summary: ClusterSummary) -> str:
    rows = [(name.replace("_", " "), count(value)) for name, value in summary.counts.items()]
    documents = summary.counts.get("documents", 0)
    sentence = f"{count(summary.duplicates)} of {count(documents)} documents are duplicates"
    percent = share(summary.duplicates, documents)
    return f'<p class="good">{sentence}{f" ({percent})" if percent else ""}</p>{facts_table(rows)}'


def _files(summary: ClusterSummary) -> str:
    listed = summary.duplicates_by_file.most_common(MAX_ROWS)
    most = listed[0][1] if listed else 0
    rows = [
        [escape(file), count(number), count(summary.removed_by_file[file]), bar(number, most)]
        for file, number in listed
    ]
    table = figures_table(("file", "duplicates", "removed", ""), rows)
    return table + more(len(summary.duplicates_by_file), "files")


def _domains(summary: ClusterSummary) -> str:
    listed = summary.domains.most_common(MAX_ROWS)
    if not listed:
        return ""
    sentence = (
        f"<p>Of all {count(summary.duplicates)} duplicates.</p>"
        if summary.sampled == summary.duplicates
        else f"<p>Of a sample of {count(summary.sampled)} of {count(summary.duplicates)} "
        "duplicates.</p>"
    )
    rows = [
        [
            escape(domain),
            count(number),
            share(number, summary.sampled),
            bar(number, listed[0][1]),
        ]
        for domain, number in listed
    ]
    table = figures_table(("domain", "duplicates", "share", ""), rows)
    return sentence + table + more(len(summary.domains), "domains")


def _curve(curve: BandCurve | None) -> str:
    if curve is None:
        return ""
    rows = [[f"{s:.1f}", f"{100 * curve.probability(s):.2f} %"] for s in _SIMILARITIES]
    sentence = (
        f"<p>Two documents are compared if they share one of {curve.bands} bands of {curve.rows} "
        f"minhashes. This applies to {100 * curve.probability(curve.threshold):.0f} % of those "
        f"with a similarity of {curve.threshold:.2f}, for nearly all above and for few below.</p>"
    )
    return sentence + curve.svg() + figures_table(("similarity", "compared"), rows)


_SIMILARITIES = (0.5, 0.6, 0.7, 0.8, 0.9)


def _pair(pair: Pair) -> str:
    texts = marked(*pair.texts)
    titles = ("compared with", "duplicate")
    sides = "".join(
        f"<div><b>{title}</b> <small>{escape(place.file)}, {unit(place)} {place.row:,}</small>"
        f"<pre>{text}</pre></div>"
        for title, place, text in zip(titles, pair.places, texts, strict=True)
    )
    cluster = f"cluster {escape(pair.cluster_id)} of {count(pair.size)} documents"
    if pair.similarity is not None:
        cluster += f", with a cosine of {pair.similarity:.4f}"
    return f'<small>{cluster}</small><div class="pair">{sides}</div>'
