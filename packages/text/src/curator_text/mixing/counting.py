"""Counting: the first pass over a source, which counts the rows of each batch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart, InputError
from curator_core.errors import NothingFoundError
from curator_core.io.atomic_write import writing
from curator_core.io.filesystems import StorageOptions, join, open_input
from curator_core.io.listing import Wanted, find_files
from curator_core.io.writers.base import FileWriter

from curator_text.mixing.keys import batch_label


class BatchCount(NamedTuple):
    """Row count of a batch. Sort order does not depend on where the files are."""

    label: str
    rows: int
    task_id: str


@dataclass
class RowCounts(FileWriter):
    """Writes the number of rows of each batch to a file."""

    ending = ".json"

    def process(self, task: DocumentBatch) -> FileGroup:
        count = BatchCount(batch_label(task), task.num_items, task.task_id)
        final = join(self.path, f"part-{task.task_id}{self.ending}")
        with writing(final, self._worker, self.storage_options) as draft:
            draft.file.write(json.dumps(count).encode())
            draft.items = 1
        written = FileGroup([FilePart(draft.final, draft.size)])
        written.staged = (draft.finished(),)
        return written

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        file.write(json.dumps(sum(table.num_rows for table in tables)).encode())


def counted_batches(folder: str, storage_options: StorageOptions | None) -> list[BatchCount]:
    """Return the batches of a source, in an order independent of how they were found."""
    try:
        parts = list(find_files([folder], Wanted((".json",)), storage_options))
    except NothingFoundError:
        return []
    return sorted(_read(part.path, storage_options) for part in parts)


def _read(path: str, storage_options: StorageOptions | None) -> BatchCount:
    with open_input(path, storage_options) as file:
        try:
            return BatchCount(*json.loads(file.read()))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path} is no count of rows: {error}") from None
