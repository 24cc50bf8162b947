"""Stores: the vectors of a partition by cluster, in memory or in a temporary file."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from curator_dedup.semantic.vectors import Matrix


@contextmanager
def store_of(rows: int, dimension: int, memory: int) -> Iterator[Matrix]:
    """Yield an uninitialized matrix; if it is larger than `memory`, a memory-mapped file."""
    if rows * dimension * 4 <= memory:
        yield np.empty((rows, dimension), np.float32)
        return
    with TemporaryDirectory(prefix="curator-vectors-") as folder:
        shape: Any = (rows, dimension)
        mapped = np.memmap(f"{folder}/vectors", np.float32, "w+", shape=shape)
        try:
            yield mapped
        finally:
            del mapped
