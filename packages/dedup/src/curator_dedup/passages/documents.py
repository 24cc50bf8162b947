"""Documents of a block, in the order that decides which occurrence is first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import FilePart, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_dedup.readings import TextFields, readings_of


@dataclass
class Documents:
    """Some documents of one file: positions and texts."""

    path: str
    positions: npt.NDArray[np.int64]
    texts: list[str | None]
    bad: int
    rejected: list[Rejected]
    lacking: int
    """Number of documents without the text field."""


def documents_of(
    parts: Sequence[FilePart], text_field: str, storage_options: StorageOptions | None
) -> Iterator[Documents]:
    fields = TextFields(text_field)
    for part in in_order(parts):
        for found in readings_of(part, fields, storage_options):
            yield Documents(
                part.path, found.positions, found.texts, len(found.bad), found.rejected,
                found.lacking,
            )  # fmt: skip


def in_order(parts: Sequence[FilePart]) -> list[FilePart]:
    """Sort by path, then position: the same order in every block and in the whole corpus."""
    return sorted(parts, key=lambda part: (part.path, part.start))


def named(value: str, count: int) -> pa.DictionaryArray:
    """Return a dictionary column with the same value in all rows."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value]))
