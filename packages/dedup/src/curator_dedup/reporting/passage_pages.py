"""The report on passages as one HTML file, without external resources."""

from html import escape

from curator_core.reporting.figures import count, share
from curator_core.reporting.fragments import facts_table, figures_table, page, section

from curator_dedup.reporting.passages import PassageSummary, Shown
from curator_dedup.reporting.tables import MOST_ROWS, STYLE, bar, more, sizes_table, unit

_AROUND, _LONGEST = 300, 2000
"""Maximum number of characters to show before and after a passage, and of the passage."""

_TIMES = ("times in the corpus", "different passages", "places")


def render(summary: PassageSummary) -> str:
    """Return the page. Everything that comes from data is escaped."""
    parts = [
        f"<h1>{escape(summary.name)}</h1>{_counts(summary)}",
        section("How often passages stand in the corpus", sizes_table(_TIMES, summary.times)),
        section("Passages by file", _files(summary)),
        section("Examples", "".join(map(_example, summary.shown))),
    ]
    return page(f"{summary.name}: repeated passages", "".join(parts), STYLE)


def _counts(summary: PassageSummary) -> str:
    counts = summary.counts
    documents, changed = counts.get("documents", 0), counts.get("changed", 0)
    percent = share(changed, documents)
    told = f"Repeated passages were {summary.verb} in {count(changed)} of {count(documents)} "
    rows = [(name.replace("_", " "), count(value)) for name, value in counts.items()]
    share_told = f" ({percent})" if percent else ""
    return f'<p class="good">{told}documents{share_told}</p>{facts_table(rows)}'


def _files(summary: PassageSummary) -> str:
    listed = summary.listed[:MOST_ROWS]
    most = listed[0][1].characters if listed else 0
    rows = [
        [escape(file), *map(count, (told.changed, told.emptied, told.passages, told.characters)),
         bar(told.characters, most)]
        for file, told in listed
    ]  # fmt: skip
    head = ("file", "documents", "of these left out", "passages", "characters", "")
    return figures_table(head, rows) + more(len(summary.files), "files")


def _example(shown: Shown) -> str:
    first = shown.texts[0].find(shown.passage)
    sides = (
        _side(
            "stands first", 0, shown, (first, first + len(shown.passage)) if first >= 0 else None
        ),
        _side("repeated", 1, shown, shown.span),
    )
    return f'<div class="pair">{"".join(sides)}</div>'


def _side(title: str, at: int, shown: Shown, span: tuple[int, int] | None) -> str:
    place, text = shown.places[at], shown.texts[at]
    where = f"{escape(place.file)}, {unit(place)} {place.row:,}"
    body = escape(text[:_LONGEST]) if span is None else _marked(text, *span)
    return f"<div><b>{title}</b> <small>{where}</small><pre>{body}</pre></div>"


def _marked(text: str, start: int, end: int) -> str:
    """Return the passage with some text around it."""
    before, passage, behind = text[:start], text[start:end], text[end:]
    left = ("… " if len(before) > _AROUND else "") + before[-_AROUND:] if before else ""
    right = behind[:_AROUND] + (" …" if len(behind) > _AROUND else "")
    more_of_it = len(passage) - _LONGEST
    rest = f" … <i>{more_of_it:,} more characters</i> " if more_of_it > 0 else ""
    return f"{escape(left)}<mark>{escape(passage[:_LONGEST])}</mark>{rest}{escape(right)}"
