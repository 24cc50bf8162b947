"""Deciding: the second pass, which compares the hashes of all documents of a partition."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Groups, Keep, groups_of, path_ranks, words_of
from curator_dedup.exact.hashing import EMPTY, KNOWN, NO_RECORD, TEXT


@dataclass
class DuplicateDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Decide for each document that has duplicates, or no text, whether it is kept.

    Columns: block, file, row, keep, is_duplicate (there is a better one), cluster_id (the hash, for
    documents with duplicates) and cluster_size, which counts documents of this run. A document that
    is `known` to an index is a duplicate of the one indexed first.
    """

    fans_out = False

    keep: Keep = "one"
    keep_empty: bool = True

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        states = table["state"].to_numpy()
        groups = self._groups(table, states)
        others = np.flatnonzero(self._is_dropped(states))
        decided = len(groups.rows) + len(others)
        if decided < table.num_rows:
            yield Dropped("without equals", table.num_rows - decided)
        if decided:
            yield DocumentBatch(self._decisions(table, groups, others))

    def _is_dropped(self, states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.keep_empty:
            return np.asarray(states == NO_RECORD)
        return np.asarray((states == NO_RECORD) | (states == EMPTY))

    def _groups(self, table: pa.Table, states: np.ndarray[Any, Any]) -> Groups:
        texts = np.flatnonzero(states == TEXT)
        orders = [table["row"].to_numpy(), path_ranks(table["file"])]
        if "priority" in table.column_names:
            orders.append(-table["priority"].to_numpy())
        words = words_of(table["hash"])
        found = groups_of(words[texts], [order[texts] for order in orders])
        found = found._replace(rows=texts[found.rows])
        return _with_known(found, _known(table)) if KNOWN in table.column_names else found

    def _decisions(self, table: pa.Table, groups: Groups, others: np.ndarray[Any, Any]) -> pa.Table:
        rows = pa.array(np.concatenate((groups.rows, others)))
        chosen = table.select(["block", "file", "row"]).take(rows)
        nothing = np.zeros(len(others), np.bool_)
        clusters = table["hash"].take(pa.array(groups.rows)).combine_chunks()
        sizes = np.concatenate((groups.sizes, np.ones(len(others), np.int64)))
        duplicate = ~groups.is_first
        if KNOWN in table.column_names:
            duplicate |= _known(table)[groups.rows]
        stays = self._stays(duplicate)
        added = {
            "keep": np.concatenate((stays, nothing)),
            "is_duplicate": np.concatenate((duplicate, nothing)),
            "cluster_id": pa.chunked_array([clusters, pa.nulls(len(others), clusters.type)]),
            "cluster_size": sizes,
        }
        for name, column in added.items():
            chosen = chosen.append_column(
                name, column if name == "cluster_id" else pa.array(column)
            )
        told = {
            "groups": int(groups.is_first.sum()),
            "duplicates": int(duplicate.sum()),
            "removed": int((~stays).sum()),
        }
        return chosen.replace_schema_metadata({COUNTS: json.dumps(told)})

    def _stays(self, duplicate: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.keep == "one":
            return ~duplicate
        return np.full(len(duplicate), self.keep == "mark")


def _known(table: pa.Table) -> np.ndarray[Any, Any]:
    return np.asarray(table[KNOWN].to_numpy(), np.bool_)


def _with_known(groups: Groups, known: np.ndarray[Any, Any]) -> Groups:
    """Add documents whose only duplicate is in an earlier crawl, as groups of one."""
    alone = known.copy()
    alone[groups.rows] = False
    rows = np.flatnonzero(alone)
    ones = np.ones(len(rows), np.int64)
    return Groups(
        np.concatenate((groups.rows, rows)),
        np.concatenate((groups.is_first, ones.astype(np.bool_))),
        np.concatenate((groups.sizes, ones)),
    )
