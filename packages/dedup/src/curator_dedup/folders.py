"""Folders of files in between: several that one pipeline writes, and what lies in one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.listing import Wanted, find_files
from curator_core.io.shuffle import ExchangeWriter

_FOLDER = "folder"


def batch_for(folder: str, table: pa.Table, **exchange: Any) -> DocumentBatch:
    """A batch for a folder, with the key, partitions and so on of its exchange."""
    return DocumentBatch(table, metadata={_FOLDER: json.dumps([folder, exchange])})


@dataclass
class FolderWriter(ExchangeWriter):
    """Writes each batch below its path as `batch_for` said."""

    @property
    def output_is_tree(self) -> bool:
        return True

    def inputs(self) -> Sequence[str]:
        """Each folder has a key of its own."""
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
    """The Parquet files of a folder; none, where there was nothing to write."""
    try:
        return list(find_files([folder], Wanted((".parquet",)), storage_options))
    except NothingFoundError:
        return []
