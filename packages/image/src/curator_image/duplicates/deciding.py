"""Duplicate decisions: choose which pictures of a cluster to keep."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_dedup.hashes.deciding import Bests, Deciding
from curator_dedup.hashes.distances import distances, words_of

from curator_image.duplicates.identities import in_order

WhichToKeep: TypeAlias = Literal["largest", "smallest", "first"]
"""Which duplicate to keep: the one with the most pixels (and bytes), the fewest, or the first."""


@dataclass
class PictureDeciding(Deciding):
    """Decide for each picture that has duplicates whether to keep it."""

    carried = ("source", "key")
    unlike = "too far from the best"

    threshold: int
    which_to_keep: WhichToKeep = "largest"

    def orders(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        names = zip(table["source"].to_pylist(), table["key"].to_pylist(), strict=True)
        places = [in_order(source, key) for source, key in names]
        ranks = np.empty(len(places), np.int64)
        ranks[sorted(range(len(places)), key=places.__getitem__)] = np.arange(len(places))
        sign = {"largest": -1, "smallest": 1, "first": 0}[self.which_to_keep]
        sizes = [sign * table[name].to_numpy() for name in ("bytes", "pixels")]
        return [ranks, *sizes, -table["priority"].to_numpy()]

    def bests(self, table: pa.Table, clusters: list[tuple[int, int]]) -> Bests:
        hashes = words_of(table["hash"])
        bests = Bests.themselves(table.num_rows, np.int64)
        for start, end in clusters:
            left = np.arange(start, end)
            while len(left):
                away = distances(hashes[left[0]], hashes[left])
                near = away <= self.threshold
                bests.rows[left[near]] = left[0]
                bests.distances[left[near]] = away[near]
                left = left[~near]
        return bests
