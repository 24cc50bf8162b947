"""Deciding: a pass that finds the repeated windows of each block, and where each occurs first."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import path_ranks, words_of
from curator_dedup.mixing import Words
from curator_dedup.passages.collecting import digest_column
from curator_dedup.passages.hashing import Indices

_TIMES = "times: "
"""Prefix of the counts of windows that occur a given number of times."""


@dataclass
class RepeatDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Return the windows that occur `min_count` times or more.

    Columns: hash, block, first_file, first_row and first_index (the position of the first
    occurrence) and count (the number of occurrences). One row per window and block.
    """

    fans_out = False

    min_count: int = 2

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.filter(pc.is_valid(task.data["hash"])).combine_chunks()
        if not table.num_rows:
            yield Dropped("without windows", task.data.num_rows)
            return
        words = words_of(table["hash"])
        counts = table["count"].to_numpy()
        rows = _candidates(words, counts)
        groups = _Groups.of(table, words, rows)
        totals = np.add.reduceat(counts[groups.rows], groups.starts) if len(rows) else rows
        firsts = groups.rows[groups.starts]
        here = np.flatnonzero((totals >= self.min_count)[groups.numbers])
        here = here[_once_for_each_block(groups.numbers[here], _blocks(table, groups.rows[here]))]
        if len(here) < task.data.num_rows:
            yield Dropped("seldom", task.data.num_rows - len(here))
        if len(here):
            numbers = groups.numbers[here]
            times = totals[np.unique(numbers)]
            told = {"repeated": len(times), "occurrences": int(times.sum()), **_times(times)}
            columns = _columns(table, groups.rows[here], firsts[numbers])
            columns["hash"] = digest_column(words[groups.rows[here]])
            columns["count"] = pa.array(totals[numbers])
            yield DocumentBatch(pa.table(columns, metadata={COUNTS: json.dumps(told)}))


def _times(totals: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return, for each number of occurrences, how many windows occur that often."""
    values, counts = np.unique(totals, return_counts=True)
    return {
        f"{_TIMES}{value}": number
        for value, number in zip(values.tolist(), counts.tolist(), strict=True)
    }


def times_in(counts: Mapping[str, int]) -> Counter[int]:
    """Return the same from the counts of a folder."""
    found = ((name.removeprefix(_TIMES), k) for name, k in counts.items() if _TIMES in name)
    return Counter({int(times): number for times, number in found})


def _columns(table: pa.Table, rows: Indices, firsts: Indices) -> dict[str, pa.ChunkedArray]:
    first = table.select(["file", "row", "index"]).take(pa.array(firsts))
    return {
        "block": table["block"].take(pa.array(rows)),
        "first_file": first["file"],
        "first_row": first["row"],
        "first_index": first["index"],
    }


def _candidates(words: Words, counts: npt.NDArray[np.int64]) -> Indices:
    """Return rows that are repeated within a block, or share the first half of their hash."""
    order = np.argsort(words[:, 0], kind="stable")
    ordered = words[order, 0]
    same = ordered[1:] == ordered[:-1]
    several = counts > 1
    several[order[1:][same]] = True
    several[order[:-1][same]] = True
    return np.flatnonzero(several)


@dataclass(frozen=True)
class _Groups:
    """Rows grouped by equal hashes, the first occurrence first."""

    rows: Indices
    numbers: Indices
    starts: Indices

    @classmethod
    def of(cls, table: pa.Table, words: Words, rows: Indices) -> "_Groups":
        chosen = table.select(["file", "row", "index"]).take(pa.array(rows))
        orders = (chosen["index"].to_numpy(), chosen["row"].to_numpy(), path_ranks(chosen["file"]))
        rows = rows[np.lexsort([*orders, words[rows, 1], words[rows, 0]])]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = np.any(words[rows[1:]] != words[rows[:-1]], axis=1)
        return cls(rows, np.cumsum(begins) - 1, np.flatnonzero(begins))


def _blocks(table: pa.Table, rows: Indices) -> npt.NDArray[np.int64]:
    coded = table["block"].unify_dictionaries().combine_chunks()
    numbers: npt.NDArray[np.int64] = coded.indices.to_numpy(zero_copy_only=False)
    return numbers[rows]


def _once_for_each_block(groups: Indices, blocks: Indices) -> Indices:
    order = np.lexsort((blocks, groups))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (groups[order[1:]] != groups[order[:-1]]) | (
        blocks[order[1:]] != blocks[order[:-1]]
    )
    return np.sort(order[begins])
