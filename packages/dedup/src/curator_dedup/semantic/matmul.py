"""Matrix products of vectors, in numpy or on the GPU of the worker."""

from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from curator_core import Resources, WorkerInfo
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from curator_dedup.passes.group import Indices
from curator_dedup.semantic.vectors import Matrix

BLOCK_ROWS = 2048
"""Number of rows per block: a product of two blocks takes 16 MB."""


class MatrixProducts(Protocol):
    """Find for each of some rows the one among others with the largest product."""

    def load(self, rows: Matrix) -> Any:
        """Move rows to the device that multiplies them."""

    def best(self, others: Any, rows: Any, floor: float) -> tuple[Matrix, Indices]:
        """Return the largest product of each of `rows`, and the first of `others` that has it.

        The index is -1 for products below `floor`.
        """

    def best_before(self, rows: Any, floor: float) -> tuple[Matrix, Indices]:
        """Return the same among the rows before each one. The product of the first row is -2."""


class NumpyProducts:
    """Multiply on the CPU, with the granted number of threads so that sums are reproducible."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._pools = ThreadpoolController()
        self._buffer = np.empty(BLOCK_ROWS * BLOCK_ROWS, np.float32)
        self._not_before = np.tri(BLOCK_ROWS, dtype=np.bool_)

    def load(self, rows: Matrix) -> Matrix:
        return np.ascontiguousarray(rows)

    def best(self, others: Matrix, rows: Matrix, floor: float) -> tuple[Matrix, Indices]:
        return _best_of(self._multiply(others, rows), floor)

    def best_before(self, rows: Matrix, floor: float) -> tuple[Matrix, Indices]:
        product = self._multiply(rows, rows)
        np.copyto(product, -2, where=self._not_before[: len(rows), : len(rows)])
        return _best_of(product, floor)

    def _multiply(self, others: Matrix, rows: Matrix) -> Matrix:
        size = len(others) * len(rows)
        if size > self._buffer.size:
            self._buffer = np.empty(size, np.float32)
        out = self._buffer[:size].reshape(len(others), len(rows))
        with self._pools.limit(limits=self._threads, user_api="blas"):
            return np.matmul(others, rows.T, out=out)


def _best_of(product: Matrix, floor: float) -> tuple[Matrix, Indices]:
    best = product.max(axis=0)
    places = np.full(len(best), -1, np.int64)
    near = np.flatnonzero(best >= floor)
    if len(near) == len(best):
        places = product.argmax(axis=0)
    elif len(near):
        places[near] = product[:, near].argmax(axis=0)
    return best, places


class TorchProducts:
    """Multiply on the worker's device, and copy only two numbers per row back."""

    def __init__(self, device: str) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(device)

    def load(self, rows: Matrix) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(rows)).to(self._device)

    def best(self, others: Any, rows: Any, floor: float) -> tuple[Matrix, Indices]:
        return self._best_of(others @ rows.T, floor)

    def best_before(self, rows: Any, floor: float) -> tuple[Matrix, Indices]:
        product = others = rows @ rows.T
        not_before = self._torch.ones_like(others, dtype=self._torch.bool).tril()
        return self._best_of(product.masked_fill(not_before, -2.0), floor)

    def _best_of(self, product: Any, floor: float) -> tuple[Matrix, Indices]:
        best = product.amax(dim=0)
        count = self._torch.arange(len(product), device=self._device)[:, None]
        first = self._torch.where(product == best, count, len(product)).amin(dim=0)
        places = self._torch.where(best >= floor, first, -1)
        return best.cpu().numpy(), places.cpu().numpy()


def products_for(resources: Resources, worker: WorkerInfo) -> MatrixProducts:
    """Return the torch implementation if a GPU was requested and granted and torch exists."""
    if resources.needs_gpu and worker.gpu_ids and find_spec("torch"):
        return TorchProducts(worker.device)
    return NumpyProducts(max(1, int(resources.cpus)))


def nearest(products: MatrixProducts, others: Any, rows: Matrix) -> tuple[Matrix, Indices]:
    """Return for each row the largest product with `others`, which are loaded, and its index."""
    found = [
        products.best(others, products.load(rows[start : start + BLOCK_ROWS]), -2.0)
        for start in range(0, len(rows), BLOCK_ROWS)
    ]
    if not found:
        return np.zeros(0, np.float32), np.zeros(0, np.int64)
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])
