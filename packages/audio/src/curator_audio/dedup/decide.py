"""The last passes: decide which duplicates to keep, and drop the others."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import Dropped, ProcessingStage
from curator_dedup.columns import numbers_in
from curator_dedup.passes.decide import BestRows, DuplicateDecider, sorted_ranks
from curator_dedup.passes.remove import DuplicateRemover

from curator_audio.audio_batch import AudioBatch
from curator_audio.dedup.fingerprints import fingerprint_distance
from curator_audio.dedup.sign import row_ids

WhichToKeep: TypeAlias = Literal["longest", "shortest", "first"]
"""Which duplicate to keep: the longest, the shortest, or the first by path."""


@dataclass(frozen=True)
class DuplicateCriteria:
    """Criteria that make two recordings duplicates."""

    threshold: float
    overlap: float
    excerpts: bool = False

    def distance(self, one: "_Recording", other: "_Recording") -> float | None:
        """Return the share of bits that differ, or None if it exceeds the threshold."""
        if one.digest == other.digest:
            return 0.0
        if not (len(one.prints) and len(other.prints)):
            return None
        found = fingerprint_distance(one.prints, other.prints, self.overlap, excerpts=self.excerpts)
        return found if found <= self.threshold else None


@dataclass(frozen=True)
class _Recording:
    digest: bytes
    prints: npt.NDArray[np.uint32]


@dataclass
class RecordingDeciding(DuplicateDecider):
    """Decide for each recording with duplicates whether to keep it."""

    extra_columns = ("path",)

    criteria: DuplicateCriteria
    which_to_keep: WhichToKeep = "longest"

    def sort_keys(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        ranks = sorted_ranks(table["path"].to_pylist())
        sign = {"longest": -1, "shortest": 1, "first": 0}[self.which_to_keep]
        lengths = np.round(sign * table["seconds"].to_numpy(), 1)
        return [numbers_in(table["doc"]), ranks, lengths, -table["priority"].to_numpy()]

    def find_best(self, table: pa.Table, clusters: list[tuple[int, int]]) -> BestRows:
        recordings = [
            _Recording(digest, np.frombuffer(prints, np.uint32))
            for digest, prints in zip(
                table["digest"].to_pylist(), table["prints"].to_pylist(), strict=True
            )
        ]
        best_rows = BestRows.initial(table.num_rows, np.float64)
        for start, end in clusters:
            left = list(range(start, end))
            while left:
                best, *others = left
                found = {row: self.criteria.distance(recordings[best], recordings[row])
                         for row in others}  # fmt: skip
                for row, distance in found.items():
                    if distance is not None:
                        best_rows.rows[row], best_rows.distances[row] = best, distance
                left = [row for row in others if found[row] is None]
        return best_rows


@dataclass
class DuplicateRemoving(DuplicateRemover, ProcessingStage[AudioBatch, AudioBatch]):
    """Drop the rows that were decided to be duplicates."""

    def process(self, task: AudioBatch) -> list[AudioBatch | Dropped]:
        return self.remove_from(task, row_ids(task))
