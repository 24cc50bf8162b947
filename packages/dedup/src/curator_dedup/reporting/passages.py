"""What a workflow cut out, or marked, as plain data: passages by file, how often they stand."""

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
    """A document with a repeated passage, and the one where that stands first."""

    places: tuple[Place, Place]
    texts: tuple[str, str]
    span: tuple[int, int]
    """Where it stands in the second."""

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
    """What was found, in figures and examples."""

    name: str
    verb: str
    """What became of the passages: cut out, or marked."""

    counts: Mapping[str, int]
    files: Mapping[str, FileTally]
    times: Counter[int]
    """How many passages stand in the corpus so often."""

    shown: Sequence[Shown] = ()

    @property
    def listed(self) -> list[tuple[str, FileTally]]:
        """The files that lost most in front."""
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
    """Examples from blocks all over the corpus, with the texts that they are of."""
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
