"""Assign each document to the cluster whose center is nearest to its vector."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import (
    DocumentBatch,
    FileGroup,
    FilePart,
    ProcessingStage,
    Rejected,
    Resources,
    WorkerInfo,
)
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle import read_partition

from curator_dedup.columns import DIGEST, constant_column
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.group import Mask
from curator_dedup.passes.list import block_id, extra_files, main_files
from curator_dedup.passes.sign import EMPTY, NO_RECORD, TEXT
from curator_dedup.semantic.matmul import nearest, products_for
from curator_dedup.semantic.sample import vector_hashes
from curator_dedup.semantic.vectors import VectorBatch, VectorFile, matrix_in, vector_column

_BATCH_BYTES = 128 * 1024 * 1024


@dataclass
class ClusterAssigning(ProcessingStage[FileGroup, DocumentBatch]):
    """Assign each document to the cluster with the nearest center.

    Columns: cluster (null without a vector), similarity (to the center), digest (of the vector),
    block, file, row, state (0 vector, 1 none, 2 not a record), vector, and id if there is an id
    field.
    """

    fans_out = True

    vector_field: str
    id_field: str | None = None
    has_document_places: bool = False
    """Whether columns hold the positions of documents in other files, which have the texts."""

    resources: Resources = field(default_factory=Resources)
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._products = products_for(self.resources, worker)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        parts = main_files(task)
        block = block_id(parts)
        [centers_file] = extra_files(task)
        centers = matrix_in(read_partition(centers_file, 1, None, self.storage_options)["vector"])
        loaded = self._products.load(centers)
        tables: list[pa.Table] = []
        size = 0
        for part in parts:
            for batch in self._file(part, centers.shape[1]).read():
                yield from batch.rejected
                tables.append(self._table(block, part, batch, loaded))
                size += tables[-1].nbytes
                if size > _BATCH_BYTES:
                    yield _with_document_counts(tables)
                    tables, size = [], 0
        if size:
            yield _with_document_counts(tables)

    def _file(self, part: FilePart, dimension: int) -> VectorFile:
        return VectorFile(
            part, self.vector_field, self.id_field, dimension, self.storage_options,
            self.has_document_places,
        )  # fmt: skip

    def _table(self, block: str, part: FilePart, batch: VectorBatch, centers: Any) -> pa.Table:
        """Return one row per document, followed by one per line that is not a record."""
        bad = len(batch.bad)
        has_vector = np.concatenate((batch.has, np.zeros(bad, np.bool_)))
        count = len(has_vector)
        similarities, labels = nearest(self._products, centers, batch.matrix)
        states = np.where(has_vector, TEXT, EMPTY).astype(np.int8)
        states[len(batch.has) :] = NO_RECORD
        places = batch.places
        if places is None:
            places = pa.table({
                "block": constant_column(block, count),
                "file": constant_column(part.path, count),
                "row": pa.array(np.concatenate((batch.positions, batch.bad))),
            })  # fmt: skip
        else:
            states[~places["is_record"].to_numpy()] = NO_RECORD
        columns = {
            "cluster": _with_nulls(labels.astype(np.int32), has_vector),
            "similarity": _with_nulls(similarities.astype(np.float32), has_vector),
            "digest": _digest_column(batch, has_vector),
            "block": _as_dictionary(places["block"]),
            "file": _as_dictionary(places["file"]),
            "row": places["row"],
            "state": pa.array(states),
            "vector": vector_column(batch.matrix, has_vector),
        }
        if self.id_field:
            columns["id"] = pa.array([*(batch.ids or ()), *[None] * bad], pa.string())
        return pa.table(columns)


def _with_nulls(values: npt.NDArray[Any], has_value: Mask) -> pa.Array:
    """Return a column with the values in their rows, and nulls in the others."""
    column = np.zeros(len(has_value), values.dtype)
    column[has_value] = values
    return pa.array(column, mask=~has_value)


def _digest_column(batch: VectorBatch, has_vector: Mask) -> pa.Array:
    if not len(batch.matrix):
        return pa.nulls(len(has_vector), DIGEST)
    hashes = vector_hashes(batch.matrix)
    if has_vector.all():
        return hashes
    return hashes.take(pa.array(np.cumsum(has_vector) - 1, mask=~has_vector))


def _as_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _with_document_counts(tables: list[pa.Table]) -> DocumentBatch:
    table = pa.concat_tables(tables).unify_dictionaries()
    counts = np.bincount(table["state"].to_numpy(), minlength=3).tolist()
    return DocumentBatch(with_counts(table, {
        "documents": counts[TEXT] + counts[EMPTY],
        "empty": counts[EMPTY],
        "no_records": counts[NO_RECORD],
    }))  # fmt: skip
