"""Sampling: the first pass, which takes a random sample of each block's vectors and counts all."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions

from curator_dedup.blocks import BlockListing
from curator_dedup.counting import COUNTS
from curator_dedup.decisions import words_of
from curator_dedup.digests import DIGEST, digests_of
from curator_dedup.semantic.reading import VectorFile, VectorReading
from curator_dedup.semantic.vectors import Matrix, vector_column

_BLOCKS = "blocks"
_MORE, _LEAST = 2, 64
"""A block contributes its share of the sample times the first, plus the second: blocks differ."""

_TURN = 0x9E3779B97F4A7C15
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass
class SampledListing(BlockListing):
    """List blocks, each with the total number of blocks."""

    def process(self, task: Empty) -> Iterator[FileGroup]:
        blocks = list(self.blocks())
        for parts in blocks:
            yield FileGroup(parts, metadata={_BLOCKS: len(blocks)})


@dataclass
class VectorSampling(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the vectors with the smallest random numbers.

    Columns: lot (the random number, derived from the vector and the seed), cut (this block's sample
    has all of its vectors up to this lot), file, row and vector.
    """

    fans_out = False

    vector_field: str
    size: int
    seed: int = 42
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        share = -(-self.size // max(1, task.metadata.get(_BLOCKS, 1)))
        lots = _Lots(min(self.size, _MORE * share + _LEAST), self.seed)
        dimension = None
        for part in task.data:
            file = VectorFile(
                part, self.vector_field, None, dimension, storage_options=self.storage_options
            )
            for reading in file.readings():
                lots.add(part, reading)
            dimension = file.dimension
        if lots.counts["vectors"]:
            yield DocumentBatch(lots.table())


class _Lots:
    """Keeps the vectors with the smallest lots."""

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        self._held: list[pa.Table] = []
        self._rows = 0
        self._cut = _ALL
        self.counts: Counter[str] = Counter()

    def add(self, part: FilePart, reading: VectorReading) -> None:
        matrix = reading.matrix
        self.counts["vectors"] += len(matrix)
        self.counts["numbers"] += matrix.size
        if not len(matrix):
            return
        lots = lots_of(digests_of_rows(matrix), self._seed)
        chosen = np.flatnonzero(lots <= self._cut)
        rows = reading.positions[reading.has][chosen]
        columns = {
            "lot": pa.array(lots[chosen]),
            "file": pa.array([part.path] * len(chosen), pa.string()),
            "row": pa.array(rows, pa.int64()),
            "vector": vector_column(matrix[chosen]),
        }
        self._held.append(pa.table(columns))
        self._rows += len(chosen)
        if self._rows > 2 * self._most:
            self._cut_down()

    def _cut_down(self) -> pa.Table:
        table = pa.concat_tables(self._held)
        if table.num_rows > self._most:
            lots = table["lot"].to_numpy()
            self._cut = np.partition(lots, self._most - 1)[self._most - 1]
            table = table.filter(pa.array(lots <= self._cut))
        self._held, self._rows = [table], table.num_rows
        return table

    def table(self) -> pa.Table:
        table = self._cut_down()
        cut = pa.array(np.full(table.num_rows, self._cut))
        told = {COUNTS: json.dumps(self.counts)}
        return table.append_column("cut", cut).replace_schema_metadata(told)


def digests_of_rows(matrix: Matrix) -> pa.Array:
    """Return a 128-bit hash of the bytes of each vector, the same wherever the vector occurs."""
    raw = matrix.tobytes()
    width = matrix.shape[1] * matrix.itemsize
    pieces = (raw[start : start + width] for start in range(0, len(raw), width))
    buffers = [None, pa.py_buffer(b"".join(digests_of(pieces)))]
    return pa.FixedSizeBinaryArray.from_buffers(DIGEST, len(matrix), buffers)


def lots_of(digests: pa.Array | pa.ChunkedArray, seed: int) -> npt.NDArray[np.uint64]:
    """Return a random number for each vector, which depends on the seed."""
    words = words_of(digests)
    turned = words[:, 0] ^ (words[:, 1] * np.uint64((2 * seed + 1) * _TURN & 0xFFFFFFFFFFFFFFFF))
    turned ^= turned >> np.uint64(31)
    return np.asarray(turned * np.uint64(_TURN))
