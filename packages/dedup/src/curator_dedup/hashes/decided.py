"""Decisions on rows, by id. All of them are held in memory."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
from curator_core.io.filesystems import StorageOptions, open_input

from curator_dedup.folders import files_in
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.ids import ids_in
from curator_dedup.hashes.neighbours import Rows

_COLUMNS = ["doc", "keep", "is_duplicate", "cluster", "size"]
_NOTHING = pa.table(
    {
        "doc": pa.array([], pa.binary(8)),
        "keep": pa.array([], pa.bool_()),
        "is_duplicate": pa.array([], pa.bool_()),
        "cluster": pa.array([], pa.binary(8)),
        "size": pa.array([], pa.int64()),
    }
)


class Decided:
    """Decisions, found by id. Rows without a decision are kept."""

    def __init__(self, table: pa.Table = _NOTHING) -> None:
        self._table = table.take(pa.array(np.argsort(ids_in(table["doc"]))))

    @classmethod
    def read(
        cls, folder: str, storage_options: StorageOptions | None, *, with_clusters: bool
    ) -> Self:
        import pyarrow.parquet as pq

        names = _COLUMNS if with_clusters else _COLUMNS[:2]
        tables = [_NOTHING.select(names)]
        for part in files_in(folder, storage_options):
            with open_input(part.path, storage_options) as source:
                read = pq.read_table(source, columns=names)
            tables.append(read.replace_schema_metadata(None))
        return cls(pa.concat_tables(tables).combine_chunks())

    def kept(self, ids: Words) -> list[bool]:
        keeps = self._table["keep"].to_numpy()
        return [place < 0 or bool(keeps[place]) for place in self._places(ids).tolist()]

    def clusters(self, ids: Words) -> "dict[str, pa.Array | Sequence[object]]":
        """Return the columns that describe each row's cluster; unique rows form their own."""
        places = self._places(ids)
        chosen = self._table.take(pa.array(places, pa.int64(), mask=places < 0))
        found = [value and value.hex() for value in chosen["cluster"].to_pylist()]
        return {
            "cluster_id": pa.array(found, pa.string()),
            "cluster_size": chosen["size"].fill_null(1).combine_chunks(),
            "is_duplicate": chosen["is_duplicate"].fill_null(False).combine_chunks(),
        }

    def _places(self, ids: Words) -> Rows:
        """Return for each row the position of its decision, or -1."""
        known = ids_in(self._table["doc"])
        if not len(known):
            return np.full(len(ids), -1)
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(np.where(known[places] == ids, places, -1))
