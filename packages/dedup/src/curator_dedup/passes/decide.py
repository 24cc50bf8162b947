"""Which duplicate of a group to keep, independent of the order in which they arrive.

`fuzzy.verify` and `fuzzy.clusters` decide what is a duplicate.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.group import Indices, Mask, run_edges
from curator_dedup.passes.sign import EMPTY, NO_RECORD

Keep: TypeAlias = Literal["one", "none", "mark"]
"""Which duplicates to keep: the best of each group, none, or all of them, marked."""

PLACE = ("block", "file", "row")
"""Columns that identify a document."""


def path_ranks(column: pa.ChunkedArray) -> Indices:
    """Return for each row the rank of its file among the sorted paths."""
    coded = column.unify_dictionaries().combine_chunks()
    ranks = sorted_ranks(coded.dictionary.to_pylist())
    return np.asarray(ranks[coded.indices.to_numpy(zero_copy_only=False)])


def sorted_ranks(values: Sequence[Any]) -> Indices:
    """Return for each value its position among the sorted values."""
    ranks = np.empty(len(values), np.int64)
    ranks[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
    return ranks


def best_first(documents: pa.Table) -> list[npt.NDArray[Any]]:
    """Return sort keys that put the best document first; the last key has precedence.

    That is the highest priority if there are priorities, then the first path, then the first row.
    """
    keys: list[npt.NDArray[Any]] = [documents["row"].to_numpy(), path_ranks(documents["file"])]
    if "priority" in documents.column_names:
        keys.append(-documents["priority"].to_numpy())
    return keys


def rows_to_keep(keep: Keep, is_duplicate: Mask, in_group: Mask | None = None) -> Mask:
    """Return which rows are kept; by default all rows are in a group."""
    if keep == "one":
        return ~is_duplicate
    if keep == "mark":
        return np.ones(len(is_duplicate), np.bool_)
    return np.zeros(len(is_duplicate), np.bool_) if in_group is None else ~in_group


def decision_counts(groups: int, is_duplicate: Mask, is_kept: Mask) -> dict[str, int]:
    return {
        "groups": groups,
        "duplicates": int(is_duplicate.sum()),
        "removed": int((~is_kept).sum()),
    }


def removed_without_text(documents: pa.Table, *, keep_empty: bool) -> pa.Table:
    """Return the documents to remove because they are no records, or have nothing to compare."""
    states = documents["state"].to_numpy()
    is_removed = states == NO_RECORD
    if not keep_empty:
        is_removed |= states == EMPTY
    return documents.filter(pa.array(is_removed))


def document_decisions(
    documents: pa.Table,
    is_kept: Mask,
    is_duplicate: Mask,
    columns: Mapping[str, Any],
    without_text: pa.Table | None = None,
) -> pa.Table:
    """Return a row of decisions, with more columns, for each document.

    Documents `without_text` are removed; they have nulls in the additional columns.
    """
    place = {name: documents[name] for name in PLACE}
    table = pa.table({**place, "keep": is_kept, "is_duplicate": is_duplicate, **columns})
    if without_text is None:
        return table
    no = np.zeros(without_text.num_rows, np.bool_)
    others = document_decisions(without_text, no, no, {})
    return pa.concat_tables([table, others], promote_options="permissive")


class BestRows(NamedTuple):
    """For each row, the best row that it duplicates, and the distance to it."""

    rows: Indices
    distances: npt.NDArray[Any]

    @classmethod
    def initial(cls, count: int, kind: type[np.generic]) -> "BestRows":
        """Return each row as its own best, before any comparison."""
        return cls(np.arange(count), np.zeros(count, kind))


@dataclass
class DuplicateDecider(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Decide for each row that has duplicates whether it is kept, for any way of comparing rows.

    The best row of a cluster takes all rows that are similar to it, then the best of the remaining
    rows does, and so on: no row is removed only because it resembles a removed one. Columns: doc,
    keep, is_duplicate, cluster (the id of the best), size, distance to the best, and the
    `extra_columns`.
    """

    fans_out = False

    extra_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of the rows to write with the decisions."""

    drop_reason: ClassVar[str] = "not like the best"
    """Reason reported for linked rows that turn out to have no duplicates."""

    keep: Keep = field(default="one", kw_only=True)

    @abstractmethod
    def sort_keys(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        """Return sort keys that put better rows first; the last key has precedence."""

    @abstractmethod
    def find_best(self, table: pa.Table, clusters: list[tuple[int, int]]) -> BestRows:
        """Find the best row of each row. `clusters` has the start and end of each cluster, whose
        rows are sorted from best to worst."""

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        clusters = numbers_in(table["cluster"])
        order = np.lexsort([*self.sort_keys(table), clusters])
        table = table.take(pa.array(order))
        best = self.find_best(table, run_edges(clusters[order]))
        sizes = np.bincount(best.rows, minlength=table.num_rows)[best.rows]
        rows = np.flatnonzero(sizes > 1)
        if len(rows) < table.num_rows:
            yield Dropped(self.drop_reason, table.num_rows - len(rows))
        if len(rows):
            yield DocumentBatch(self._decisions(table, best, sizes, rows))

    def _decisions(
        self, table: pa.Table, best: BestRows, sizes: Indices, rows: Indices
    ) -> pa.Table:
        ids = numbers_in(table["doc"])
        is_duplicate = (best.rows != np.arange(len(ids)))[rows]
        is_kept = rows_to_keep(self.keep, is_duplicate)
        columns = {
            "doc": binary_column(ids[rows]),
            "keep": is_kept,
            "is_duplicate": is_duplicate,
            "cluster": binary_column(ids[best.rows[rows]]),
            "size": sizes[rows],
            "distance": best.distances[rows],
            **{name: table[name].take(pa.array(rows)) for name in self.extra_columns},
        }
        groups = int((~is_duplicate).sum())
        return with_counts(pa.table(columns), decision_counts(groups, is_duplicate, is_kept))
