"""Decisions on the documents of a block, by file and row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import FilePart
from curator_core.io.filesystems import StorageOptions

from curator_dedup.blocks import rows_of_block

CLUSTER_COLUMNS = ("cluster_id", "cluster_size", "is_duplicate")

_PLACE = ["block", "file", "row", "keep"]


@dataclass(frozen=True)
class Decided:
    """Decisions on rows of one file, sorted by row."""

    rows: npt.NDArray[np.int64]
    keeps: npt.NDArray[np.bool_]
    table: pa.Table

    def kept(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Return which rows are kept; None if all are. `positions` must be sorted."""
        if not len(positions):
            return None
        start, end = np.searchsorted(self.rows, (positions[0], positions[-1] + 1))
        gone = self.rows[start:end][~self.keeps[start:end]]
        if not len(gone):
            return None
        mask = np.ones(len(positions), np.bool_)
        mask[np.searchsorted(positions, gone)] = False
        return mask

    def clusters(self, positions: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """Return the columns that describe each row's group; unique rows form their own."""
        found = np.searchsorted(self.rows, positions)
        inside = np.minimum(found, max(0, len(self.rows) - 1))
        known = self.rows[inside] == positions if len(self.rows) else np.zeros(len(found), bool)
        places = pa.array(inside, mask=~known)
        rows = self.table.select(CLUSTER_COLUMNS).take(places).combine_chunks()
        ids = [raw and raw.hex() for raw in rows["cluster_id"].to_pylist()]
        return {
            "cluster_id": pa.array(ids, pa.string()),
            "cluster_size": pc.fill_null(_flat(rows["cluster_size"]), 1),
            "is_duplicate": pc.fill_null(_flat(rows["is_duplicate"]), False),
        }


def decided_on(
    block: str,
    parts: Sequence[FilePart],
    partitions: int,
    *,
    with_clusters: bool,
    storage_options: StorageOptions | None,
) -> dict[str, Decided]:
    """Return the decisions on a block, by file. Documents without a decision are kept."""
    fields = [*_PLACE, *(CLUSTER_COLUMNS if with_clusters else ())]
    found = rows_of_block(block, parts, partitions, fields, storage_options)
    if found is None:
        return {}
    table = found.sort_by("row")
    table = table.set_column(1, "file", pc.cast(table["file"], pa.string()))
    paths = pc.unique(table["file"]).to_pylist()
    return {path: _of(table.filter(pc.equal(table["file"], path))) for path in paths}


def _of(table: pa.Table) -> Decided:
    keeps: Any = table["keep"].to_numpy()
    return Decided(table["row"].to_numpy(), keeps, table)


def nothing_decided() -> Decided:
    schema = {"row": pa.int64(), "keep": pa.bool_(), "cluster_id": pa.binary(16),
              "cluster_size": pa.int64(), "is_duplicate": pa.bool_()}  # fmt: skip
    return _of(pa.schema(schema.items()).empty_table())


def _flat(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
