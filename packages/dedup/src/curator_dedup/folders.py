"""Folders of intermediate files: write several from one pipeline, and list their files."""

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
    """Return a batch for a folder; `exchange` has the key, partitions and so on of that folder."""
    return DocumentBatch(table, metadata={_FOLDER: json.dumps([folder, exchange])})


@dataclass
class FolderWriter(ExchangeWriter):
    """Writes each batch to the folder, below its path, that `batch_for` set."""

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
        return list(find_files([folder], Wanted((".parquet",)), storage_options))
    except NothingFoundError:
        return []
