"""Decisions: which recordings of a cluster of duplicates to keep."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_dedup.hashes.deciding import Bests, Deciding
from curator_dedup.hashes.ids import ids_in

from curator_audio.fingerprints.comparing import apart

WhichToKeep: TypeAlias = Literal["longest", "shortest", "first"]
"""Which duplicate to keep: the longest, the shortest, or the first by path."""


@dataclass(frozen=True)
class Likeness:
    """Criteria that make two recordings duplicates."""

    threshold: float
    overlap: float
    excerpts: bool = False

    def apart(self, one: "_Recording", other: "_Recording") -> float | None:
        """Return the share of bits that differ, or None if it exceeds the threshold."""
        if one.digest == other.digest:
            return 0.0
        if not (len(one.prints) and len(other.prints)):
            return None
        found = apart(one.prints, other.prints, self.overlap, excerpts=self.excerpts)
        return found if found <= self.threshold else None


@dataclass(frozen=True)
class _Recording:
    digest: bytes
    prints: npt.NDArray[np.uint32]


@dataclass
class RecordingDeciding(Deciding):
    """Decide for each recording with duplicates whether to keep it."""

    carried = ("path",)

    likeness: Likeness
    which_to_keep: WhichToKeep = "longest"

    def orders(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        paths = table["path"].to_pylist()
        ranks = np.empty(len(paths), np.int64)
        ranks[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        sign = {"longest": -1, "shortest": 1, "first": 0}[self.which_to_keep]
        lengths = np.round(sign * table["seconds"].to_numpy(), 1)
        return [ids_in(table["doc"]), ranks, lengths, -table["priority"].to_numpy()]

    def bests(self, table: pa.Table, clusters: list[tuple[int, int]]) -> Bests:
        recordings = [
            _Recording(digest, np.frombuffer(prints, np.uint32))
            for digest, prints in zip(
                table["digest"].to_pylist(), table["prints"].to_pylist(), strict=True
            )
        ]
        bests = Bests.themselves(table.num_rows, np.float64)
        for start, end in clusters:
            left = list(range(start, end))
            while left:
                best, *others = left
                found = {row: self.likeness.apart(recordings[best], recordings[row])
                         for row in others}  # fmt: skip
                for row, distance in found.items():
                    if distance is not None:
                        bests.rows[row], bests.distances[row] = best, distance
                left = [row for row in others if found[row] is None]
        return bests
