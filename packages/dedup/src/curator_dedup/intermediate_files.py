"""Intermediate files: the tables, counts and notes that one pass writes for the next.

Notes are small facts that one pipeline finds out and the next one's listing reads. They change with
the input. As options of a stage they would make it a different pipeline, which a run directory
refuses.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem, open_input
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.shuffle import ExchangeWriter

_FOLDER = "folder"


def batch_for_folder(folder: str, table: pa.Table, **exchange: Any) -> DocumentBatch:
    """Return a batch for a folder of a `FolderWriter`.

    `exchange` has the options of that folder's exchange: key, partitions and so on.
    """
    return DocumentBatch(table, metadata={_FOLDER: json.dumps([folder, exchange])})


@dataclass
class FolderWriter(ExchangeWriter):
    """Write each batch to the folder, below its path, that `batch_for_folder` set."""

    @property
    def output_is_tree(self) -> bool:
        return True

    def inputs(self) -> Sequence[str]:
        """Require no column here: each folder has its own key."""
        return ()

    def process(self, task: DocumentBatch) -> FileGroup:
        folder, exchange = json.loads(task.metadata[_FOLDER])
        changes = {"path": join(self.path, folder), **exchange}
        writer = replace(
            ExchangeWriter(self.path, mode=self.mode, storage_options=self.storage_options),
            **changes,
        )
        writer.setup(self._worker)
        return writer.process(task)


def files_in(folder: str, storage_options: StorageOptions | None = None) -> list[FilePart]:
    """Return the Parquet files of a folder; an empty list if nothing was written."""
    try:
        return list(find_files([folder], FileFilter((".parquet",)), storage_options))
    except NothingFoundError:
        return []


def read_whole_file(
    part: FilePart,
    columns: Sequence[str] | None = None,
    storage_options: StorageOptions | None = None,
) -> pa.Table:
    """Return all partitions of a file, or some of its columns."""
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        return pq.read_table(source, columns=columns).replace_schema_metadata(None)


COUNTS = b"curator_dedup"
"""Metadata key of the counts in a Parquet file."""


def with_counts(table: pa.Table, counts: Mapping[str, int]) -> pa.Table:
    """Return a table that carries counts in its metadata, to be added up by `counts_in`."""
    return table.replace_schema_metadata({COUNTS: json.dumps(counts)})


def counts_in(folder: str, storage_options: StorageOptions | None = None) -> Counter[str]:
    """Return the sums of the counts in all files of a folder."""
    import pyarrow.parquet as pq

    total: Counter[str] = Counter()
    for file in files_in(folder, storage_options):
        with open_input(file.path, storage_options) as source:
            total.update(json.loads(pq.read_schema(source).metadata[COUNTS]))
    return total


def write_note(path: str, facts: Any, storage_options: StorageOptions | None = None) -> None:
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    fs.makedirs(inner.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(inner, json.dumps(facts).encode())


def read_note(path: str, storage_options: StorageOptions | None = None) -> Any:
    """Return the facts, or None if there is no note or it is incomplete."""
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    try:
        return json.loads(fs.cat_file(inner))
    except (FileNotFoundError, ValueError):
        return None
