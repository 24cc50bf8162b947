"""Deciding: which documents of each cluster are kept."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Keep, path_ranks
from curator_dedup.fuzzy.sets import SHINGLES, sets_in
from curator_dedup.fuzzy.signing import EARLIER, KEY, TEXT
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.fuzzy.verifying import DIGEST, verified

Flags = npt.NDArray[np.bool_]


@dataclass
class ClusterDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Decide for each document that is linked, or has no text, whether it is kept.

    Columns: those of `DuplicateDeciding`, and `known`: whether it duplicates a document of an
    earlier crawl. cluster_size counts documents of this run. With `verify`, clusters are split
    first, so that each document is at least that similar to the one that is kept.
    """

    fans_out = False

    keep: Keep = "one"
    verify: float | None = None

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        light = [name for name in task.data.column_names if name != SHINGLES]
        table = task.data.select(light).unify_dictionaries().combine_chunks()
        if not table.num_rows:
            return
        clusters: npt.NDArray[Any] = keys_of(table["cluster"])
        is_fixed = table["state"].to_numpy() == EARLIER
        orders = [table["row"].to_numpy(), path_ranks(table["file"])]
        if "priority" in table.column_names:
            orders.append(-table["priority"].to_numpy())
        order = np.lexsort([*orders, ~is_fixed, clusters])
        table, clusters = table.take(pa.array(order)), clusters[order]
        if self.verify is None:
            known = table["known"].to_numpy()
            yield DocumentBatch(self._decisions(table, clusters, known, table["cluster"], {}))
            return
        is_fixed = is_fixed[order]
        sets = sets_in(task.data[SHINGLES])
        ordered = [sets[place] for place in order]
        found = verified(keys_of(table[DIGEST]), ordered, clusters, is_fixed, self.verify)
        new = np.flatnonzero(~is_fixed)
        new = new[np.argsort(found.groups[new], kind="stable")]
        if not len(new):
            yield Dropped("only earlier documents", table.num_rows)
            return
        groups = found.groups[new]
        leaders = numbers_column(keys_of(table["doc"])[groups], KEY)
        told = {"compared_pairs": found.compared, "rejected_pairs": found.rejected}
        told["candidates"] = _candidates(clusters, is_fixed, table["state"].to_numpy() == TEXT)
        decided = table.take(pa.array(new))
        yield DocumentBatch(self._decisions(decided, groups, is_fixed[groups], leaders, told))

    def _decisions(
        self,
        table: pa.Table,
        clusters: npt.NDArray[Any],
        known: Flags,
        ids: pa.Array,
        told: dict[str, int],
    ) -> pa.Table:
        is_first = np.ones(len(clusters), np.bool_)
        is_first[1:] = clusters[1:] != clusters[:-1]
        groups = np.cumsum(is_first) - 1
        is_text = table["state"].to_numpy() == TEXT
        known = np.bincount(groups, known)[groups] > 0
        sizes = np.bincount(groups)[groups]
        duplicate = is_text & (~is_first | known)
        in_group = is_text & ((sizes > 1) | known)
        keeps = is_text & self._stays(duplicate, in_group)
        told |= {
            "groups": int((in_group & is_first).sum()),
            "duplicates": int(duplicate.sum()),
            "removed": int((is_text & ~keeps).sum()),
        }
        columns = {
            "block": table["block"],
            "file": table["file"],
            "row": table["row"],
            "keep": pa.array(keeps),
            "is_duplicate": pa.array(duplicate),
            "cluster_id": ids,
            "cluster_size": pa.array(sizes),
            "known": pa.array(known & is_text),
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})

    def _stays(self, duplicate: Flags, in_group: Flags) -> Flags:
        if self.keep == "one":
            return ~duplicate
        return ~in_group if self.keep == "none" else np.ones(len(duplicate), np.bool_)


def _candidates(clusters: npt.NDArray[Any], is_fixed: Flags, is_text: Flags) -> int:
    """Return how many documents would be duplicates without verification."""
    with_earlier = np.isin(clusters, clusters[is_fixed])
    lonely = np.unique(clusters[is_text & ~with_earlier])
    return int(is_text.sum()) - len(lonely)
