"""Tallying: what was cut out of the files of a block, noted for the report.

A note for each block, under the name of the block: a block that is done again writes the same one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from curator_core.io.filesystems import StorageOptions, join

from curator_dedup.notes import read_note, write_note
from curator_dedup.passages.spans import RepeatedSpan

EXAMPLES = 3
"""So many documents of each block are shown."""


@dataclass
class FileTally:
    """What came of one file."""

    changed: int = 0
    """Documents in which something is repeated."""

    emptied: int = 0
    passages: int = 0
    characters: int = 0
    """How many stand in those passages."""


@dataclass
class Example:
    """A repeated passage of one document, and the document where it stands first."""

    file: str
    row: int
    span: Sequence[int]
    first_file: str
    first_row: int


@dataclass
class Tally:
    """What came of the files of a block, or of all."""

    files: dict[str, FileTally] = field(default_factory=dict)
    """Those in which anything is repeated."""

    examples: list[Example] = field(default_factory=list)
    tried: int = 0
    """How many documents were looked at for examples."""

    @property
    def wants_examples(self) -> bool:
        return len(self.examples) < EXAMPLES and self.tried < 4 * EXAMPLES

    def add(self, path: str, spans: Sequence[RepeatedSpan], *, emptied: bool) -> None:
        """What was found in one document of a file."""
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
    """All blocks together."""
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
