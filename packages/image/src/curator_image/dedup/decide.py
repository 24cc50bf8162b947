"""The last passes: decide which duplicates to keep, and drop the others."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import Dropped, ProcessingStage
from curator_dedup.columns import words_in
from curator_dedup.hamming import distances
from curator_dedup.passes.decide import BestRows, DuplicateDecider, sorted_ranks
from curator_dedup.passes.remove import DuplicateRemover

from curator_image.dedup.sign import order_in_source, picture_ids
from curator_image.image_batch import ImageBatch

WhichToKeep: TypeAlias = Literal["largest", "smallest", "first"]
"""Which duplicate to keep: the one with the most pixels (and bytes), the fewest, or the first."""


@dataclass
class PictureDeciding(DuplicateDecider):
    """Decide for each picture that has duplicates whether to keep it."""

    extra_columns = ("source", "key")
    drop_reason = "too far from the best"

    threshold: int
    which_to_keep: WhichToKeep = "largest"

    def sort_keys(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        names = zip(table["source"].to_pylist(), table["key"].to_pylist(), strict=True)
        positions = [order_in_source(source, key) for source, key in names]
        sign = {"largest": -1, "smallest": 1, "first": 0}[self.which_to_keep]
        sizes = [sign * table[name].to_numpy() for name in ("bytes", "pixels")]
        return [sorted_ranks(positions), *sizes, -table["priority"].to_numpy()]

    def find_best(self, table: pa.Table, clusters: list[tuple[int, int]]) -> BestRows:
        hashes = words_in(table["hash"])
        best_rows = BestRows.initial(table.num_rows, np.int64)
        for start, end in clusters:
            left = np.arange(start, end)
            while len(left):
                away = distances(hashes[left[0]], hashes[left])
                near = away <= self.threshold
                best_rows.rows[left[near]] = left[0]
                best_rows.distances[left[near]] = away[near]
                left = left[~near]
        return best_rows


@dataclass
class DuplicateRemoving(DuplicateRemover, ProcessingStage[ImageBatch, ImageBatch]):
    """Drop the pictures that a decision marks as duplicates."""

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        return self.remove_from(task, picture_ids(task))
