"""Folders: several exchanges that one pipeline writes, each batch into the one it names."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup
from curator_core.exchanges import ExchangeWriter
from curator_core.filesystems import join

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
