"""Split: divide a corpus into training, validation and test data."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isclose

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage
from curator_core.model.arrow import with_column

from curator_text.mixing.random_keys import KEYS, hash_key

THREE_PARTS = {"train": 0.98, "validation": 0.01, "test": 0.01}


@dataclass
class HashSplitter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Assigns each document to a part of the corpus, by a hash.

    A document stays in its part when others are added, files are moved or the order changes.
    Documents that agree in all columns of `by` stay together: name the site's column to keep sites
    together. Write the parts to folders with a writer's `partition_by="split"`. Shares are exact on
    average: of n documents, a part with share p gets n·p, give or take √(n·p·(1-p)).
    """

    shares: Mapping[str, float] = field(default_factory=lambda: dict(THREE_PARTS))
    """The parts and their shares, which must add up to 1. Their order matters: if a border between
    two parts moves, only documents near that border change parts."""

    by: list[str] = field(default_factory=lambda: ["text"])
    """Columns whose values decide: the text itself, or for example `url` or `domain`."""

    seed: int = 0
    """A different seed gives a different split."""

    split_field: str = field(default="split", kw_only=True)
    """Output column for the name of the part."""

    def __post_init__(self) -> None:
        self.by = [self.by] if isinstance(self.by, str) else list(self.by)

    def check(self) -> Iterable[str]:
        if not self.by:
            yield "by is empty; name the columns to hash"
        if not self.shares:
            yield "shares is empty; name the parts, as in {train: 0.9, test: 0.1}"
            return
        for name, share in self.shares.items():
            if not 0 <= share <= 1:
                yield f"the share of {name!r} is {share}, but must be between 0 and 1"
        total = sum(self.shares.values())
        if not isclose(total, 1.0, abs_tol=1e-6):
            yield f"shares add up to {total:g}, but must add up to 1"
        if self.split_field in self.by:
            yield f"split_field is {self.split_field!r}, which is also in `by`"

    def inputs(self) -> Sequence[str]:
        return self.by

    def outputs(self) -> Sequence[str]:
        return (self.split_field,)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        columns = [_as_bytes(task.data.column(name)) for name in self.by]
        names, borders = self._borders()
        parts = [
            names[bisect_right(borders, hash_key(*row, seed=self.seed))]
            for row in zip(*columns, strict=True)
        ]
        part_column = pa.array(parts, pa.string())
        return task.with_data(with_column(task.data, self.split_field, part_column))

    def _borders(self) -> tuple[list[str], list[int]]:
        """Return the parts, and the first key of each part except the first."""
        names = [name for name, share in self.shares.items() if share]
        ends = accumulate(self.shares[name] for name in names)
        return names, [round(end * KEYS) for end in ends][:-1]


def _as_bytes(column: pa.ChunkedArray) -> list[bytes]:
    """Convert values to bytes so that equal values are equal bytes in every file."""
    kind = column.type
    if pa.types.is_large_string(kind):
        return _mark_missing(column.cast(pa.large_binary()).to_pylist())
    if pa.types.is_string(kind):
        return _mark_missing(column.cast(pa.binary()).to_pylist())
    values = column.to_pylist()
    return _mark_missing([None if value is None else str(value).encode() for value in values])


def _mark_missing(values: Sequence[bytes | None]) -> list[bytes]:
    """Mark missing values, so that they differ from all others."""
    return [b"-" if value is None else b"+" + value for value in values]
