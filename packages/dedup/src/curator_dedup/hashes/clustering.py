"""Clustering: return the data of each row that has links, with its cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions, open_input

from curator_dedup.folders import files_in
from curator_dedup.fuzzy.clustering import labels_of
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.notes import marker

_LINKS = "links"


@dataclass
class LinkedListing(ProcessingStage[Empty, FileGroup]):
    """List all links and all tables of rows as one task."""

    links: str
    rows: str
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> FileGroup:
        links = files_in(self.links, self.storage_options)
        rows = files_in(self.rows, self.storage_options)
        parts = [marker(self.links), *links, *rows]
        return FileGroup(parts, metadata={_LINKS: len(links)})


@dataclass
class LinkedClustering(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the rows that have links, with `cluster`, the smallest id in it.

    All links are held in memory, about 50 bytes each; tables are read one file at a time.
    """

    fans_out = True

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        count = task.metadata[_LINKS]
        links = [self._read(part, ["doc", "to"]) for part in task.data[1 : count + 1]]
        if not links:
            yield Dropped("no links", task.num_items)
            return
        nodes, labels = _labels(pa.concat_tables(links))
        for part in task.data[count + 1 :]:
            table = self._read(part)
            chosen, clusters = _linked(ids_in(table["doc"]), nodes, labels)
            if len(chosen):
                rows = table.take(pa.array(chosen)).replace_schema_metadata(None)
                yield DocumentBatch(rows.append_column("cluster", id_column(clusters)))

    def _read(self, part: FilePart, columns: list[str] | None = None) -> pa.Table:
        import pyarrow.parquet as pq

        with open_input(part.path, self.storage_options) as source:
            return pq.read_table(source, columns=columns).replace_schema_metadata(None)


def _labels(links: pa.Table) -> tuple[Words, Words]:
    return labels_of(ids_in(links["doc"]), ids_in(links["to"]))


def _linked(
    ids: Words, nodes: Words, labels: Words
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Words]:
    places = np.minimum(np.searchsorted(nodes, ids), len(nodes) - 1)
    chosen = np.flatnonzero(nodes[places] == ids)
    return chosen, labels[places[chosen]]
