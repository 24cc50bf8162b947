"""The report on passages: counts by file and examples, as data and as an HTML page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from curator_core.io.filesystems import StorageOptions
from curator_core.model.formatting import count, share
from curator_report.html import facts_table, figures_table, page, section

from curator_dedup.passages.remove import Example, FileCounts, PassageCounts
from curator_dedup.report.html import MAX_ROWS, STYLE, bar, more, sizes_table, unit
from curator_dedup.report.lookup import DocumentPlace, look_up_documents

EXAMPLES = 12
MAX_LISTED = 1000


@dataclass(frozen=True)
class ShownPassage:
    """A document with a repeated passage, and the one where the passage occurs first."""

    places: tuple[DocumentPlace, DocumentPlace]
    texts: tuple[str, str]
    span: tuple[int, int]
    """The position of the passage in the second document."""

    @property
    def passage(self) -> str:
        return self.texts[1][slice(*self.span)]

    def to_json(self) -> dict[str, Any]:
        first, later = self.places
        return {
            "passage": self.passage,
            "first": {"file": first.file, "row": first.row},
            "later": {"file": later.file, "row": later.row, "span": list(self.span)},
        }


@dataclass(frozen=True)
class PassageSummary:
    """The results in figures and examples."""

    name: str
    verb: str
    """What was done with the passages: cut out, or marked."""

    counts: Mapping[str, int]
    files: Mapping[str, FileCounts]
    times: Counter[int]
    """Number of passages by how often they occur in the corpus."""

    shown: Sequence[ShownPassage] = ()

    @property
    def listed(self) -> list[tuple[str, FileCounts]]:
        """The files, sorted by repeated characters, the most first."""
        return sorted(self.files.items(), key=lambda one: (-one[1].characters, one[0]))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "counts": dict(self.counts),
            "by_file": [{"file": f, **asdict(counts)} for f, counts in self.listed[:MAX_LISTED]],
            "times": {str(times): self.times[times] for times in sorted(self.times)},
            "examples": [example.to_json() for example in self.shown],
        }


def choose_examples(
    counts: PassageCounts, text_field: str, storage_options: StorageOptions | None
) -> list[ShownPassage]:
    """Return examples from blocks across the corpus, with their texts."""
    several = list({(one.first_file, one.first_row): one for one in counts.examples}.values())
    step = max(1, len(several) // EXAMPLES)
    chosen = several[::step][:EXAMPLES]
    places = [place for one in chosen for place in _places(one)]
    records = look_up_documents(places, [text_field], storage_options)
    found = []
    for one in chosen:
        texts = [records.get(place, {}).get(text_field) for place in _places(one)]
        if isinstance(texts[0], str) and isinstance(texts[1], str):
            start, end = one.span
            found.append(ShownPassage(_places(one), (texts[0], texts[1]), (start, end)))
    return found


def _places(example: Example) -> tuple[DocumentPlace, DocumentPlace]:
    first = DocumentPlace(example.first_file, example.first_row)
    return first, DocumentPlace(example.file, example.row)


_AROUND, _LONGEST = 300, 2000
"""Maximum number of characters to show before and after a passage, and of the passage."""

_TIMES = ("times in the corpus", "different passages", "occurrences")


def render(summary: PassageSummary) -> str:
    """Return the page. Everything that comes from data is escaped."""
    parts = [
        f"<h1>{escape(summary.name)}</h1>{_counts(summary)}",
        section("How often passages occur in the corpus", sizes_table(_TIMES, summary.times)),
        section("Passages by file", _files(summary)),
        section("Examples", "".join(map(_example, summary.shown))),
    ]
    return page(f"{summary.name}: repeated passages", "".join(parts), STYLE)


def _counts(summary: PassageSummary) -> str:
    counts = summary.counts
    documents, changed = counts.get("documents", 0), counts.get("changed", 0)
    percent = share(changed, documents)
    share_of_all = f" ({percent})" if percent else ""
    rows = [(name.replace("_", " "), count(value)) for name, value in counts.items()]
    return (
        f'<p class="good">Repeated passages were {summary.verb} in {count(changed)} of '
        f"{count(documents)} documents{share_of_all}</p>{facts_table(rows)}"
    )


def _files(summary: PassageSummary) -> str:
    listed = summary.listed[:MAX_ROWS]
    most = listed[0][1].characters if listed else 0
    rows = [
        [escape(file), count(one.changed), count(one.emptied), count(one.passages),
         count(one.characters), bar(one.characters, most)]
        for file, one in listed
    ]  # fmt: skip
    head = ("file", "documents", "of these dropped", "passages", "characters", "")
    return figures_table(head, rows) + more(len(summary.files), "files")


def _example(shown: ShownPassage) -> str:
    first = shown.texts[0].find(shown.passage)
    sides = (
        _side(
            "first occurrence",
            0,
            shown,
            (first, first + len(shown.passage)) if first >= 0 else None,
        ),
        _side("repeated", 1, shown, shown.span),
    )
    return f'<div class="pair">{"".join(sides)}</div>'


def _side(title: str, at: int, shown: ShownPassage, span: tuple[int, int] | None) -> str:
    place, text = shown.places[at], shown.texts[at]
    where = f"{escape(place.file)}, {unit(place)} {place.row:,}"
    body = escape(text[:_LONGEST]) if span is None else _marked(text, *span)
    return f"<div><b>{title}</b> <small>{where}</small><pre>{body}</pre></div>"


def _marked(text: str, start: int, end: int) -> str:
    """Return the passage with some text around it."""
    before, passage, after = text[:start], text[start:end], text[end:]
    left = ("… " if len(before) > _AROUND else "") + before[-_AROUND:] if before else ""
    right = after[:_AROUND] + (" …" if len(after) > _AROUND else "")
    hidden = len(passage) - _LONGEST
    rest = f" … <i>{hidden:,} more characters</i> " if hidden > 0 else ""
    return f"{escape(left)}<mark>{escape(passage[:_LONGEST])}</mark>{rest}{escape(right)}"
