"""Sample vectors: the first pass, which counts all vectors and keeps a random part of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions

from curator_dedup.columns import binary_column, words_in
from curator_dedup.hashing import text_hashes
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.list import BlockListing
from curator_dedup.semantic.vectors import Matrix, VectorBatch, VectorFile, vector_column

_BLOCKS = "blocks"
_FACTOR, _SURPLUS = 2, 64
"""A block contributes its share of the sample times the first, plus the second: blocks differ."""

_MULTIPLIER = 0x9E3779B97F4A7C15
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
    """Return the vectors of a block with the smallest random keys.

    Columns: random_key (derived from the vector and the seed), key_limit (the sample has all
    vectors of the block with keys up to this one), file, row and vector.
    """

    fans_out = False

    vector_field: str
    size: int
    seed: int = 42
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        share = -(-self.size // max(1, task.metadata.get(_BLOCKS, 1)))
        sample = _Sample(min(self.size, _FACTOR * share + _SURPLUS), self.seed)
        dimension = None
        for part in task.data:
            file = VectorFile(
                part, self.vector_field, None, dimension, storage_options=self.storage_options
            )
            for batch in file.read():
                sample.add(part, batch)
            dimension = file.dimension
        if sample.counts["vectors"]:
            yield DocumentBatch(sample.table())


class _Sample:
    """Keeps the vectors with the smallest random keys."""

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._limit = _ALL
        self.counts: Counter[str] = Counter()

    def add(self, part: FilePart, batch: VectorBatch) -> None:
        matrix = batch.matrix
        self.counts["vectors"] += len(matrix)
        self.counts["numbers"] += matrix.size
        if not len(matrix):
            return
        keys = random_keys(vector_hashes(matrix), self._seed)
        chosen = np.flatnonzero(keys <= self._limit)
        rows = batch.positions[batch.has][chosen]
        columns = {
            "random_key": pa.array(keys[chosen]),
            "file": pa.array([part.path] * len(chosen), pa.string()),
            "row": pa.array(rows, pa.int64()),
            "vector": vector_column(matrix[chosen]),
        }
        self._tables.append(pa.table(columns))
        self._rows += len(chosen)
        if self._rows > 2 * self._most:
            self._keep_smallest()

    def _keep_smallest(self) -> pa.Table:
        table = pa.concat_tables(self._tables)
        if table.num_rows > self._most:
            keys = table["random_key"].to_numpy()
            self._limit = np.partition(keys, self._most - 1)[self._most - 1]
            table = table.filter(pa.array(keys <= self._limit))
        self._tables, self._rows = [table], table.num_rows
        return table

    def table(self) -> pa.Table:
        table = self._keep_smallest()
        limits = pa.array(np.full(table.num_rows, self._limit))
        return with_counts(table.append_column("key_limit", limits), self.counts)


def vector_hashes(matrix: Matrix) -> pa.Array:
    """Return a 128-bit hash of the bytes of each vector, the same wherever the vector occurs."""
    raw = matrix.tobytes()
    width = matrix.shape[1] * matrix.itemsize
    pieces = (raw[start : start + width] for start in range(0, len(raw), width))
    return binary_column(text_hashes(pieces))


def random_keys(digests: pa.Array | pa.ChunkedArray, seed: int) -> npt.NDArray[np.uint64]:
    """Return a pseudo-random number for each vector, which depends on the seed."""
    words = words_in(digests)
    factor = np.uint64((2 * seed + 1) * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF)
    keys = words[:, 0] ^ (words[:, 1] * factor)
    keys ^= keys >> np.uint64(31)
    return np.asarray(keys * np.uint64(_MULTIPLIER))
