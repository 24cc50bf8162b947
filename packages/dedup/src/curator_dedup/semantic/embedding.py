"""Embedding: compute vectors of texts, for documents that have none yet."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.plugins.registry import plugins

from curator_dedup.passes.list import block_id
from curator_dedup.text_reader import TextBatch, TextFields, read_texts

if TYPE_CHECKING:
    from curator_core import AnyStage

EMBEDDER = "text.text_embedder"
"""The stage that computes vectors; another package registers it."""

VECTOR_FIELD = "embedding"

DOCUMENT_PLACE = ("block", "file", "row", "is_record")
"""Columns with the position of a document, and whether it is a record."""

ID = "id"

_TEXT = "text"


def missing_embedder() -> str | None:
    """Return why texts cannot be embedded on this machine; None if they can."""
    if EMBEDDER in plugins().stages:
        return None
    return "embedding_model needs curator-text: pip install 'curator-text[models]'"


def embedder(model: str) -> "AnyStage":
    """Return the stage that adds a vector to each text."""
    stage: AnyStage = plugins().stages.load(EMBEDDER)(
        model=model, text_field=_TEXT, embedding_field=VECTOR_FIELD
    )
    return stage


@dataclass
class EmbeddingTextReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the texts of a block with their positions.

    Lines that are not records have no text.
    """

    fans_out = True

    text_field: str = "text"
    id_field: str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        fields = TextFields(self.text_field, self.id_field)
        block = block_id(task.data)
        for part in task.data:
            for batch in read_texts(part, fields, self.storage_options):
                yield from batch.rejected
                if len(batch.positions) or len(batch.bad):
                    yield DocumentBatch(self._table(block, part, batch))

    def _table(self, block: str, part: FilePart, batch: TextBatch) -> pa.Table:
        bad = len(batch.bad)
        rows = np.concatenate((batch.positions, batch.bad))
        texts = [*batch.texts, *[None] * bad]
        columns = {
            "block": pa.array([block] * len(rows)),
            "file": pa.array([part.path] * len(rows)),
            "row": pa.array(rows),
            "is_record": pa.array(np.arange(len(rows)) < len(batch.positions)),
            _TEXT: pa.array(texts, pa.large_string()),
        }
        if self.id_field:
            ids = [None if value is None else str(value) for value in batch.scores or ()]
            columns[ID] = pa.array([*ids, *[None] * bad], pa.string())
        return pa.table(columns)
