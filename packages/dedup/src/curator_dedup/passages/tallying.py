"""Tallies: what was cut out of the files of a block, recorded for the report.

Each block has one note, named after it: a block that is repeated writes the same note.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from curator_core.io.filesystems import StorageOptions, join

from curator_dedup.notes import read_note, write_note
from curator_dedup.passages.spans import RepeatedSpan

EXAMPLES = 3
"""Maximum number of examples per block."""


@dataclass
class FileTally:
    """Counts of one file."""

    changed: int = 0
    """Documents with repeated passages."""

    emptied: int = 0
    passages: int = 0
    characters: int = 0
    """Characters in those passages."""


@dataclass
class Example:
    """A repeated passage of a document, and the document where it occurs first."""

    file: str
    row: int
    span: Sequence[int]
    first_file: str
    first_row: int


@dataclass
class Tally:
    """Counts of the files of a block, or of all blocks."""

    files: dict[str, FileTally] = field(default_factory=dict)
    """Files with repeated passages."""

    examples: list[Example] = field(default_factory=list)
    tried: int = 0
    """Number of documents considered as examples."""

    @property
    def wants_examples(self) -> bool:
        return len(self.examples) < EXAMPLES and self.tried < 4 * EXAMPLES

    def add(self, path: str, spans: Sequence[RepeatedSpan], *, emptied: bool) -> None:
        """Add the spans of one document of a file."""
        told = self.files.setdefault(path, FileTally())
        told.changed += 1
        told.emptied += emptied
        told.passages += len(spans)
        told.characters += sum(end - start for start, end in (one.passage for one in spans))

    def write(self, folder: str, block: str, storage_options: StorageOptions | None) -> None:
        write_note(_note(folder, block), asdict(self), storage_options)

    @property
    def totals(self) -> Counter[str]:
        return sum((Counter(asdict(one)) for one in self.files.values()), Counter())


def tallied(folder: str, blocks: Sequence[str], storage_options: StorageOptions | None) -> Tally:
    """Return the sum of all blocks."""
    whole = Tally()
    for facts in _notes(folder, blocks, storage_options):
        whole.examples += [Example(**one) for one in facts["examples"]]
        for path, told in facts["files"].items():
            both = Counter(asdict(whole.files.get(path, FileTally())))
            both.update(told)
            whole.files[path] = FileTally(**both)
    return whole


def _notes(
    folder: str, blocks: Sequence[str], storage_options: StorageOptions | None
) -> Iterator[Any]:
    for block in blocks:
        facts = read_note(_note(folder, block), storage_options)
        if facts is not None:
            yield facts


def _note(folder: str, block: str) -> str:
    return join(folder, f"{block}.json")
