"""Passage reports as plain data: repeated passages by file, and how often they occur."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from curator_core.io.filesystems import StorageOptions

from curator_dedup.passages.tallying import Example, FileTally, Tally
from curator_dedup.reporting.looking import Place, documents_at

EXAMPLES = 12
MOST_LISTED = 1000


@dataclass(frozen=True)
class Shown:
    """A document with a repeated passage, and the one where the passage occurs first."""

    places: tuple[Place, Place]
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
    files: Mapping[str, FileTally]
    times: Counter[int]
    """Number of passages by how often they occur in the corpus."""

    shown: Sequence[Shown] = ()

    @property
    def listed(self) -> list[tuple[str, FileTally]]:
        """The files, sorted by repeated characters, the most first."""
        return sorted(self.files.items(), key=lambda one: (-one[1].characters, one[0]))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "counts": dict(self.counts),
            "by_file": [{"file": f, **asdict(told)} for f, told in self.listed[:MOST_LISTED]],
            "times": {str(times): self.times[times] for times in sorted(self.times)},
            "examples": [one.to_json() for one in self.shown],
        }


def shown_of(tally: Tally, text_field: str, storage_options: StorageOptions | None) -> list[Shown]:
    """Return examples from blocks across the corpus, with their texts."""
    several = list({(one.first_file, one.first_row): one for one in tally.examples}.values())
    step = max(1, len(several) // EXAMPLES)
    chosen = several[::step][:EXAMPLES]
    places = [place for one in chosen for place in _places(one)]
    records = documents_at(places, [text_field], storage_options)
    found = []
    for one in chosen:
        texts = [records.get(place, {}).get(text_field) for place in _places(one)]
        if isinstance(texts[0], str) and isinstance(texts[1], str):
            start, end = one.span
            found.append(Shown(_places(one), (texts[0], texts[1]), (start, end)))
    return found


def _places(example: Example) -> tuple[Place, Place]:
    first = Place(example.first_file, example.first_row)
    return first, Place(example.file, example.row)
