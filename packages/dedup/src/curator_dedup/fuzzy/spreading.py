"""Spreading: connected components of links that do not fit in memory.

Alternates large-star and small-star (Kiveris et al., Connected Components in MapReduce and Beyond,
2014). Each looks only at one document and its neighbours, so a worker holds no more than one
partition. After a few rounds, all documents are linked with the smallest of their cluster.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.fuzzy.clustering import labels_of
from curator_dedup.fuzzy.signing import KEY
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words

MOVED = "moved"
"""Count of links that a round changed; 0 means that all rounds are done."""


@dataclass
class Star(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Link neighbours of a document with the smallest of them.

    `both` returns the given links in both directions; `large` moves the neighbours that are larger
    than the document, `small` the others and the document itself.
    """

    fans_out = False

    kind: Literal["both", "large", "small"]

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        sources, targets = keys_of(task.data["doc"]), keys_of(task.data["to"])
        work = {"both": _both, "large": _large, "small": _small}[self.kind]
        ones, others, moved = work(sources, targets)
        if not len(ones):
            yield Dropped("no neighbour to be moved", task.num_items)
            return
        columns = {"doc": numbers_column(ones, KEY), "to": numbers_column(others, KEY)}
        yield DocumentBatch(pa.table(columns, metadata={COUNTS: json.dumps({MOVED: moved})}))


def _both(sources: Words, targets: Words) -> tuple[Words, Words, int]:
    """Return links in both directions, contracted within this partition."""
    nodes, labels = labels_of(sources, targets)
    linked = nodes != labels
    ones, others = nodes[linked], labels[linked]
    return np.concatenate((ones, others)), np.concatenate((others, ones)), 0


def _large(sources: Words, targets: Words) -> tuple[Words, Words, int]:
    least, _ = _least(sources, np.minimum(sources, targets))
    larger = targets > sources
    moved = int((larger & (least != sources)).sum())
    return *_once(targets[larger], least[larger]), moved


def _small(sources: Words, targets: Words) -> tuple[Words, Words, int]:
    """All neighbours are smaller here."""
    least, is_first = _least(sources, targets)
    others = targets != least
    ones = np.concatenate((targets[others], sources[is_first]))
    ends = np.concatenate((least[others], least[is_first]))
    ones, ends = _once(ones, ends)
    moved = int(others.sum())
    return np.concatenate((ones, ends)), np.concatenate((ends, ones)), moved


def _least(
    sources: Words, values: Words
) -> tuple[Words, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return for each link the smallest value of its source, and a mask of one link per source."""
    order = np.lexsort((values, sources))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.diff(sources[order]) != 0
    least = np.empty(len(order), np.uint64)
    firsts = values[order][begins]
    least[order] = firsts[np.cumsum(begins) - 1]
    is_first = np.zeros(len(order), np.bool_)
    is_first[order[begins]] = True
    return least, is_first


def _once(ones: Words, others: Words) -> tuple[Words, Words]:
    order = np.lexsort((others, ones))
    ones, others = ones[order], others[order]
    fresh = np.ones(len(ones), np.bool_)
    fresh[1:] = (np.diff(ones) != 0) | (np.diff(others) != 0)
    return ones[fresh], others[fresh]
