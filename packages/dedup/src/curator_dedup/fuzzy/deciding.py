"""Deciding: of each cluster, which documents stay."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Keep, path_ranks
from curator_dedup.fuzzy.signing import KEY, TEXT
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.fuzzy.verifying import Shingled, verified

Flags = npt.NDArray[np.bool_]


@dataclass
class ClusterDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Says of every document that is linked with another, or left out, whether it stays.

    The columns are those of `DuplicateDeciding`; cluster_size counts documents of this run. With
    `verify` a cluster is first divided, so that each of its documents is as similar as that to the
    one that stays.
    """

    fans_out = False

    keep: Keep = "one"
    verify: float | None = None

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch]:
        table = task.data.unify_dictionaries().combine_chunks()
        if not table.num_rows:
            return
        clusters: npt.NDArray[Any] = keys_of(table["cluster"])
        orders = [table["row"].to_numpy(), path_ranks(table["file"])]
        if "priority" in table.column_names:
            orders.append(-table["priority"].to_numpy())
        order = np.lexsort([*orders, clusters])
        table, clusters = table.take(pa.array(order)), clusters[order]
        if self.verify is not None:
            groups = verified(Shingled.of(table), clusters, self.verify)
            again = np.argsort(groups, kind="stable")
            table, clusters = table.take(pa.array(again)), groups[again]
        yield DocumentBatch(self._decisions(table, clusters))

    def _decisions(self, table: pa.Table, clusters: npt.NDArray[Any]) -> pa.Table:
        is_first = np.ones(len(clusters), np.bool_)
        is_first[1:] = clusters[1:] != clusters[:-1]
        groups = np.cumsum(is_first) - 1
        is_text = table["state"].to_numpy() == TEXT
        known = np.bincount(groups, table["known"].to_numpy())[groups] > 0
        sizes = np.bincount(groups)[groups]
        firsts = np.flatnonzero(is_first)
        duplicate = is_text & (~is_first | known)
        in_group = is_text & ((sizes > 1) | known)
        keeps = is_text & self._stays(duplicate, in_group)
        told = {
            "groups": int((in_group & is_first).sum()),
            "duplicates": int(duplicate.sum()),
            "removed": int((is_text & ~keeps).sum()),
        }
        ids = numbers_column(keys_of(table["doc"])[firsts][groups], KEY)
        if self.verify is None:
            ids = table["cluster"]
        columns = {
            "block": table["block"],
            "file": table["file"],
            "row": table["row"],
            "keep": pa.array(keeps),
            "is_duplicate": pa.array(duplicate),
            "cluster_id": ids,
            "cluster_size": pa.array(sizes),
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})

    def _stays(self, duplicate: Flags, in_group: Flags) -> Flags:
        if self.keep == "one":
            return ~duplicate
        return ~in_group if self.keep == "none" else np.ones(len(duplicate), np.bool_)
