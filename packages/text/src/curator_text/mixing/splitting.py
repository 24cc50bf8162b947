"""Splitting a corpus into training, validation and test data."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isclose

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage
from curator_core.model.arrow import with_column

from curator_text.mixing.keys import KEYS, key_of

THREE_PARTS = {"train": 0.98, "validation": 0.01, "test": 0.01}


@dataclass
class HashSplitter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Says of each document which part of the corpus it belongs to, by a hash.

    A document stays in its part when others are added, files are moved or the order changes, and
    documents that agree in all columns of `by` are never parted: name the column of the site to
    keep sites together. Write the parts to folders with `partition_by="split"` of a writer. Shares
    are exact on average: of n documents, a part of share p gets n·p, give or take √(n·p·(1-p)).
    """

    shares: Mapping[str, float] = field(default_factory=lambda: dict(THREE_PARTS))
    """The parts and their shares, which add up to 1. Their order counts: where a border between
    two of them moves, only documents near that border change sides."""

    by: list[str] = field(default_factory=lambda: ["text"])
    """The columns whose values decide; the text itself, or such as `url` or `domain`."""

    seed: int = 0
    """Another number, another division."""

    split_field: str = field(default="split", kw_only=True)
    """The column for the name of the part."""

    def __post_init__(self) -> None:
        self.by = [self.by] if isinstance(self.by, str) else list(self.by)

    def check(self) -> Iterable[str]:
        if not self.by:
            yield "by is empty; name the columns that decide"
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
            yield f"split_field is {self.split_field!r}, which is also a column that decides"

    def inputs(self) -> Sequence[str]:
        return self.by

    def outputs(self) -> Sequence[str]:
        return (self.split_field,)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        columns = [_as_bytes(task.data.column(name)) for name in self.by]
        names, borders = self._borders()
        parts = [
            names[bisect_right(borders, key_of(*row, seed=self.seed))]
            for row in zip(*columns, strict=True)
        ]
        named = pa.array(parts, pa.string())
        return task.with_data(with_column(task.data, self.split_field, named))

    def _borders(self) -> tuple[list[str], list[int]]:
        """The parts, and the keys at which each but the first begins."""
        names = [name for name, share in self.shares.items() if share]
        ends = accumulate(self.shares[name] for name in names)
        return names, [round(end * KEYS) for end in ends][:-1]


def _as_bytes(column: pa.ChunkedArray) -> list[bytes]:
    """Values so that equal ones are equal bytes, whichever file they come from."""
    kind = column.type
    if pa.types.is_large_string(kind):
        return _marked(column.cast(pa.large_binary()).to_pylist())
    if pa.types.is_string(kind):
        return _marked(column.cast(pa.binary()).to_pylist())
    values = column.to_pylist()
    return _marked([None if value is None else str(value).encode() for value in values])


def _marked(values: Sequence[bytes | None]) -> list[bytes]:
    """A missing value is a value of its own."""
    return [b"-" if value is None else b"+" + value for value in values]
