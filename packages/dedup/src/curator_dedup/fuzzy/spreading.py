"""Spreading: documents that hang together by links, where the links do not fit in memory.

Large-star and small-star in turns (Kiveris et al., Connected Components in MapReduce and Beyond,
2014): each looks at one document and its neighbours only, so a worker needs no more than one
partition. At the end all are linked with the smallest of their cluster; that takes a few rounds.
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
"""How many links a round changed: with none, all is done."""


@dataclass
class Star(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Links neighbours of a document with the smallest of them.

    `both` gives links as they are, in both directions; `large` moves the neighbours that are larger
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
    """Links in both directions, contracted as far as one partition tells."""
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
    """Here all neighbours are smaller."""
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
    """For each link the smallest value of its source; and one link of each source."""
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
