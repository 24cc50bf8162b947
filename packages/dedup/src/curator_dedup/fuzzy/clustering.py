"""Clustering: assign each linked document to its cluster."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.shuffle.reader import partition_of, read_partition, united

from curator_dedup.components import components
from curator_dedup.folders import batch_for, files_in
from curator_dedup.fuzzy.signing import KEY
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words, different
from curator_dedup.notes import marker, read_note

_ABOUT = ("block", "file", "row", "state", "priority")
_LINKS = "links"

MEMBERS, KNOWN = "members", "known"


@dataclass
class ClusterListing(ProcessingStage[Empty, FileGroup]):
    """List all links as one task, or one task per partition.

    There is a task per partition if a note names the folder in which every document is linked with
    the smallest of its cluster.
    """

    links: str
    note: str
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        links = files_in(self.links, self.storage_options)
        labelled = read_note(self.note, self.storage_options)
        if labelled is None:
            yield FileGroup([marker(self.note), *links])
            return
        stars = files_in(labelled, self.storage_options)
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in (*links, *stars)]
            yield FileGroup([marker(self.note), *parts], metadata={_LINKS: len(links)})


@dataclass
class Clustering(ProcessingStage[FileGroup, DocumentBatch]):
    """Return each linked document once, with its cluster.

    Columns: doc, cluster (the smallest id in it), known (whether it is linked with an earlier
    crawl), block, file, row, state, and the priority. With `recalls`, these are written to the
    folder `members`, and the folder `known` has doc and cluster of documents of earlier crawls.
    """

    fans_out = True

    partitions: int
    recalls: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        parts = task.data[1:]
        if not parts:
            return
        if _LINKS not in task.metadata:
            links = united([self._whole(part) for part in parts]).unify_dictionaries()
            labelled = labels_of(keys_of(links["doc"]), keys_of(links["to"]))
        else:
            count = task.metadata[_LINKS]
            links = united([self._partition(part) for part in parts[:count]]).unify_dictionaries()
            if not links.num_rows:
                return
            labelled = _spread(links, [self._partition(part) for part in parts[count:]])
        members = members_of(links, *labelled)
        if not self.recalls:
            yield DocumentBatch(members)
            return
        yield batch_for(MEMBERS, members, key="block", partitions=self.partitions)
        known = known_of(links, *labelled)
        if known.num_rows:
            yield batch_for(KNOWN, known, key="doc", hashed=True, partitions=self.partitions)

    def _whole(self, part: FilePart) -> pa.Table:
        import pyarrow.parquet as pq

        with open_input(part.path, self.storage_options) as source:
            return pq.read_table(source)

    def _partition(self, part: FilePart) -> pa.Table:
        return read_partition(part, self.partitions, storage_options=self.storage_options)


def _spread(links: pa.Table, stars: list[pa.Table]) -> tuple[Words, Words]:
    """Return the documents of a partition, and the smallest document of each one's cluster."""
    nodes = different(keys_of(links["doc"]))
    labels = nodes.copy()
    if stars:
        ones, others = (keys_of(united(stars)[name]) for name in ("doc", "to"))
        smaller = (others < ones) & np.isin(ones, nodes)
        labels[np.searchsorted(nodes, ones[smaller])] = others[smaller]
    return nodes, labels


def labels_of(sources: Words, targets: Words) -> tuple[Words, Words]:
    """Return all documents in order, and the smallest document of each one's cluster."""
    nodes, places = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    ones, others = places[: len(sources)], places[len(sources) :]
    return nodes, nodes[components(len(nodes), ones, others)]


def known_of(links: pa.Table, nodes: Words, labels: Words) -> pa.Table:
    """Return each linked document of an earlier crawl once, with its label."""
    known = links.filter(links["known"])
    documents, firsts = np.unique(keys_of(known["to"]), return_index=True)
    labelled = labels[np.searchsorted(nodes, keys_of(known["doc"])[firsts])]
    return pa.table({
        "doc": numbers_column(documents, KEY), "cluster": numbers_column(labelled, KEY)
    })  # fmt: skip


def members_of(links: pa.Table, nodes: Words, labels: Words) -> pa.Table:
    """Return each document that has links once, with its label."""
    documents, firsts, places = np.unique(
        keys_of(links["doc"]), return_index=True, return_inverse=True
    )
    known = np.zeros(len(documents), np.bool_)
    known[places[links["known"].to_numpy()]] = True
    labelled = labels[np.searchsorted(nodes, documents)]
    about = links.select([name for name in _ABOUT if name in links.column_names])
    columns = {
        "doc": numbers_column(documents, KEY),
        "cluster": numbers_column(labelled, KEY),
        "known": pa.array(known),
    }
    chosen = about.take(pa.array(firsts))
    return pa.table({**columns, **{name: chosen[name] for name in chosen.column_names}})
