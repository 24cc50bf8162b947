"""Assigning: the third pass, which groups vectors by cluster."""

import json
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
)
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import read_partition
from curator_core.model.resources import WorkerInfo

from curator_dedup.blocks import block_id, decisions_of, inputs_of
from curator_dedup.counting import COUNTS
from curator_dedup.digests import DIGEST
from curator_dedup.semantic.arithmetic import arithmetic_for, nearest
from curator_dedup.semantic.reading import VectorFile, VectorReading
from curator_dedup.semantic.sampling import digests_of_rows
from curator_dedup.semantic.vectors import matrix_of, vector_column

VECTOR, EMPTY, NO_RECORD = 0, 1, 2
"""Values of the column `state`."""

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
    has_places: bool = False
    """Whether columns hold the positions of documents in other files, which have the texts."""

    resources: Resources = field(default_factory=Resources)
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._arithmetic = arithmetic_for(self.resources, worker)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        parts = inputs_of(task)
        block = block_id(parts)
        [told] = decisions_of(task)
        centers = read_partition(told, 1, None, self.storage_options)
        matrix = matrix_of(centers["vector"])
        loaded = self._arithmetic.load(matrix)
        held: list[pa.Table] = []
        size = 0
        for part in parts:
            for reading in self._file(part, matrix.shape[1]).readings():
                yield from reading.rejected
                held.append(self._table(block, part, reading, loaded))
                size += held[-1].nbytes
                if size > _BATCH_BYTES:
                    yield _counted(held)
                    held, size = [], 0
        if size:
            yield _counted(held)

    def _file(self, part: FilePart, dimension: int) -> VectorFile:
        return VectorFile(
            part, self.vector_field, self.id_field, dimension, self.storage_options,
            self.has_places,
        )  # fmt: skip

    def _table(self, block: str, part: FilePart, reading: VectorReading, centers: Any) -> pa.Table:
        """Return one row per document, followed by one per line that is not a record."""
        lines = len(reading.bad)
        has = np.concatenate((reading.has, np.zeros(lines, np.bool_)))
        count = len(has)
        products, labels = nearest(self._arithmetic, centers, reading.matrix)
        states = np.where(has, VECTOR, EMPTY).astype(np.int8)
        states[len(reading.has) :] = NO_RECORD
        places = reading.places
        if places is None:
            places = pa.table({
                "block": _repeated(block, count),
                "file": _repeated(part.path, count),
                "row": pa.array(np.concatenate((reading.positions, reading.bad))),
            })  # fmt: skip
        else:
            states[~places["is_record"].to_numpy()] = NO_RECORD
        columns = {
            "cluster": _spread(labels.astype(np.int32), has),
            "similarity": _spread(products.astype(np.float32), has),
            "digest": _digests(reading, has),
            "block": _coded(places["block"]),
            "file": _coded(places["file"]),
            "row": places["row"],
            "state": pa.array(states),
            "vector": vector_column(reading.matrix, has),
        }
        if self.id_field:
            columns["id"] = pa.array([*(reading.ids or ()), *[None] * lines], pa.string())
        return pa.table(columns)


def _spread(values: npt.NDArray[Any], has: npt.NDArray[np.bool_]) -> pa.Array:
    spread = np.zeros(len(has), values.dtype)
    spread[has] = values
    return pa.array(spread, mask=~has)


def _digests(reading: VectorReading, has: npt.NDArray[np.bool_]) -> pa.Array:
    if not len(reading.matrix):
        return pa.nulls(len(has), DIGEST)
    digests = digests_of_rows(reading.matrix)
    if has.all():
        return digests
    places = np.cumsum(has) - 1
    return digests.take(pa.array(places, mask=~has))


def _repeated(value: str, count: int) -> pa.DictionaryArray:
    places = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(places, pa.array([value]))


def _coded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _counted(tables: list[pa.Table]) -> DocumentBatch:
    table = pa.concat_tables(tables).unify_dictionaries()
    counts = np.bincount(table["state"].to_numpy(), minlength=3).tolist()
    told = {
        "documents": counts[VECTOR] + counts[EMPTY],
        "empty": counts[EMPTY],
        "no_records": counts[NO_RECORD],
    }
    return DocumentBatch(table.replace_schema_metadata({COUNTS: json.dumps(told)}))
