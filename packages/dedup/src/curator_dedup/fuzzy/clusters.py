"""Clusters of linked documents: find them, in memory or out of core, and decide which to keep."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle import concat_tables, partition_of

from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.fuzzy.minhash import EARLIER
from curator_dedup.fuzzy.verify import SHINGLES, SHINGLES_DIGEST, sets_in, split_clusters
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import (
    batch_for_folder,
    files_in,
    read_note,
    read_whole_file,
    with_counts,
)
from curator_dedup.passes.decide import (
    PLACE,
    Keep,
    best_first,
    decision_counts,
    document_decisions,
    rows_to_keep,
)
from curator_dedup.passes.group import (
    Mask,
    find_clusters,
    run_starts,
    sorted_unique,
    sorted_unique_pairs,
)
from curator_dedup.passes.list import extra_files, file_task, main_files, read_parts
from curator_dedup.passes.sign import TEXT

_DOCUMENT = (*PLACE, "state", "priority")
"""Columns of a link that describe the document."""

_IN_MEMORY = "in_memory"
"""Metadata key of tasks: whether all links are in one task."""

MEMBERS, KNOWN = "members", "known"

MOVED = "moved"
"""Count of links that a round changed; 0 means that all rounds are done."""


@dataclass
class ClusterListing(ProcessingStage[Empty, FileGroup]):
    """List all links as one task, or one task per partition.

    There is a task per partition if a note names the folder in which every document is linked with
    the smallest of its cluster; the same partition of that folder is in the extra files.
    """

    links: str
    note: str
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        links = files_in(self.links, self.storage_options)
        folder = read_note(self.note, self.storage_options)
        if folder is None:
            yield file_task(links, marker=self.note, metadata={_IN_MEMORY: True})
            return
        stars = files_in(folder, self.storage_options)
        for number in range(self.partitions):
            yield file_task(
                [partition_of(file, number, self.partitions) for file in links],
                [partition_of(file, number, self.partitions) for file in stars],
                marker=self.note,
                metadata={_IN_MEMORY: False},
            )


@dataclass
class Clustering(ProcessingStage[FileGroup, DocumentBatch]):
    """Return each linked document once, with its cluster.

    Columns: doc, cluster (the smallest id in it), known (whether it is linked with an earlier
    crawl), block, file, row, state, and the priority. With `compare_earlier`, these are written to
    the folder `members`, and the folder `known` has doc and cluster of documents of earlier crawls.
    """

    fans_out = True

    partitions: int
    compare_earlier: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        parts = main_files(task)
        if not parts:
            return
        if task.metadata[_IN_MEMORY]:
            links = concat_tables([self._read_file(part) for part in parts])
            nodes, clusters = find_clusters(numbers_in(links["doc"]), numbers_in(links["to"]))
        else:
            links = self._read_partition(parts)
            if not links.num_rows:
                return
            stars = extra_files(task)
            nodes, clusters = _clusters_of(links, self._read_partition(stars) if stars else None)
        links = links.unify_dictionaries()
        members = cluster_members(links, nodes, clusters)
        if not self.compare_earlier:
            yield DocumentBatch(members)
            return
        yield batch_for_folder(MEMBERS, members, key="block", partitions=self.partitions)
        known = known_documents(links, nodes, clusters)
        if known.num_rows:
            yield batch_for_folder(KNOWN, known, key="doc", hashed=True, partitions=self.partitions)

    def _read_file(self, part: FilePart) -> pa.Table:
        return read_whole_file(part, storage_options=self.storage_options)

    def _read_partition(self, parts: list[FilePart]) -> pa.Table:
        return read_parts(parts, self.partitions, None, self.storage_options)


def _clusters_of(links: pa.Table, stars: pa.Table | None) -> tuple[U64Array, U64Array]:
    """Return the documents of a partition, and the smallest document of each one's cluster."""
    nodes = sorted_unique(numbers_in(links["doc"]))
    clusters = nodes.copy()
    if stars is not None:
        sources, targets = numbers_in(stars["doc"]), numbers_in(stars["to"])
        is_smaller = (targets < sources) & np.isin(sources, nodes)
        clusters[np.searchsorted(nodes, sources[is_smaller])] = targets[is_smaller]
    return nodes, clusters


def known_documents(links: pa.Table, nodes: U64Array, clusters: U64Array) -> pa.Table:
    """Return each linked document of an earlier crawl once, with its cluster."""
    known = links.filter(links["known"])
    documents, firsts = np.unique(numbers_in(known["to"]), return_index=True)
    places = np.searchsorted(nodes, numbers_in(known["doc"])[firsts])
    columns = {"doc": binary_column(documents), "cluster": binary_column(clusters[places])}
    return pa.table(columns)


def cluster_members(links: pa.Table, nodes: U64Array, clusters: U64Array) -> pa.Table:
    """Return each document that has links once, with its cluster."""
    documents, firsts, places = np.unique(
        numbers_in(links["doc"]), return_index=True, return_inverse=True
    )
    known = np.zeros(len(documents), np.bool_)
    known[places[links["known"].to_numpy()]] = True
    first_links = links.take(pa.array(firsts))
    return pa.table({
        "doc": binary_column(documents),
        "cluster": binary_column(clusters[np.searchsorted(nodes, documents)]),
        "known": pa.array(known),
        **{name: first_links[name] for name in _DOCUMENT if name in links.column_names},
    })  # fmt: skip


@dataclass
class Star(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Link neighbours of a document with the smallest of them, where links do not fit in memory.

    `both` returns the given links in both directions; `large` moves the neighbours that are larger
    than the document, `small` the others and the document itself. Alternating large and small stars
    links all documents with the smallest of their cluster after a few rounds (Kiveris et al.,
    Connected Components in MapReduce and Beyond, 2014). A worker holds no more than one partition.
    """

    fans_out = False

    kind: Literal["both", "large", "small"]

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        relink = {"both": _both_directions, "large": _large_star, "small": _small_star}[self.kind]
        sources, targets, moved = relink(numbers_in(task.data["doc"]), numbers_in(task.data["to"]))
        if not len(sources):
            yield Dropped("no neighbour to be moved", task.num_items)
            return
        table = pa.table({"doc": binary_column(sources), "to": binary_column(targets)})
        yield DocumentBatch(with_counts(table, {MOVED: moved}))


def _both_directions(sources: U64Array, targets: U64Array) -> tuple[U64Array, U64Array, int]:
    """Return links in both directions, contracted within this partition."""
    nodes, smallest = find_clusters(sources, targets)
    is_linked = nodes != smallest
    left, right = nodes[is_linked], smallest[is_linked]
    return np.concatenate((left, right)), np.concatenate((right, left)), 0


def _large_star(sources: U64Array, targets: U64Array) -> tuple[U64Array, U64Array, int]:
    smallest, _ = _smallest_by_source(sources, np.minimum(sources, targets))
    is_larger = targets > sources
    moved = int((is_larger & (smallest != sources)).sum())
    return *sorted_unique_pairs(targets[is_larger], smallest[is_larger]), moved


def _small_star(sources: U64Array, targets: U64Array) -> tuple[U64Array, U64Array, int]:
    """All neighbours are smaller here."""
    smallest, is_first = _smallest_by_source(sources, targets)
    others = targets != smallest
    left, right = sorted_unique_pairs(
        np.concatenate((targets[others], sources[is_first])),
        np.concatenate((smallest[others], smallest[is_first])),
    )
    return np.concatenate((left, right)), np.concatenate((right, left)), int(others.sum())


def _smallest_by_source(sources: U64Array, values: U64Array) -> tuple[U64Array, Mask]:
    """Return for each link the smallest value of its source, and a mask of one link per source."""
    order = np.lexsort((values, sources))
    starts = run_starts(sources[order])
    smallest = np.empty(len(order), np.uint64)
    smallest[order] = values[order][starts][np.cumsum(starts) - 1]
    is_first = np.zeros(len(order), np.bool_)
    is_first[order[starts]] = True
    return smallest, is_first


@dataclass
class ClusterDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Decide for each document that is linked, or has no text, whether it is kept.

    Columns: those of exact deduplication, and `known`: whether it duplicates a document of an
    earlier crawl. cluster_size counts documents of this run. With `verify`, clusters are split
    first, so that each document is at least that similar to the one that is kept.
    """

    fans_out = False

    keep: Keep = "one"
    verify: float | None = None

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        names = [name for name in task.data.column_names if name != SHINGLES]
        table = task.data.select(names).unify_dictionaries().combine_chunks()
        if not table.num_rows:
            return
        clusters: npt.NDArray[Any] = numbers_in(table["cluster"])
        is_earlier = table["state"].to_numpy() == EARLIER
        order = np.lexsort([*best_first(table), ~is_earlier, clusters])
        table, clusters, is_earlier = (
            table.take(pa.array(order)),
            clusters[order],
            is_earlier[order],
        )
        if self.verify is None:
            known = table["known"].to_numpy()
            yield DocumentBatch(self._decisions(table, clusters, known, table["cluster"], {}))
            return
        sets = sets_in(task.data[SHINGLES])
        digests = numbers_in(table[SHINGLES_DIGEST])
        split = split_clusters(
            digests, [sets[row] for row in order], clusters, is_earlier, self.verify
        )
        new = np.flatnonzero(~is_earlier)
        new = new[np.argsort(split.groups[new], kind="stable")]
        if not len(new):
            yield Dropped("only earlier documents", table.num_rows)
            return
        groups = split.groups[new]
        is_text = table["state"].to_numpy() == TEXT
        counts = {
            "compared_pairs": split.compared,
            "rejected_pairs": split.rejected,
            "candidates": _count_candidates(clusters, is_earlier, is_text),
        }
        leaders = binary_column(numbers_in(table["doc"])[groups])
        documents = table.take(pa.array(new))
        yield DocumentBatch(self._decisions(documents, groups, is_earlier[groups], leaders, counts))

    def _decisions(
        self,
        documents: pa.Table,
        clusters: npt.NDArray[Any],
        known: Mask,
        cluster_ids: pa.Array,
        counts: dict[str, int],
    ) -> pa.Table:
        is_first = run_starts(clusters)
        groups = np.cumsum(is_first) - 1
        is_text = documents["state"].to_numpy() == TEXT
        known = np.bincount(groups, known)[groups] > 0
        sizes = np.bincount(groups)[groups]
        is_duplicate = is_text & (~is_first | known)
        in_group = is_text & ((sizes > 1) | known)
        is_kept = is_text & rows_to_keep(self.keep, is_duplicate, in_group)
        columns = {
            "cluster_id": cluster_ids,
            "cluster_size": pa.array(sizes),
            "known": pa.array(known & is_text),
        }
        first = int((in_group & is_first).sum())
        counts |= decision_counts(first, is_duplicate, is_kept | ~is_text)
        decisions = document_decisions(documents, is_kept, is_duplicate, columns)
        return with_counts(decisions, counts)


def _count_candidates(clusters: npt.NDArray[Any], is_earlier: Mask, is_text: Mask) -> int:
    """Return how many documents would be duplicates without verification."""
    with_earlier = np.isin(clusters, clusters[is_earlier])
    without_earlier = np.unique(clusters[is_text & ~with_earlier])
    return int(is_text.sum()) - len(without_earlier)
