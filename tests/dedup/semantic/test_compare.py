"""Neighbours found by block agree with the whole matrix, in numpy and torch."""

from typing import Any

import numpy as np
import pytest
from curator_core import Resources
from curator_core.model.resources import WorkerInfo
from curator_dedup.semantic.compare import find_neighbours
from curator_dedup.semantic.matmul import (
    MatrixProducts,
    NumpyProducts,
    TorchProducts,
    products_for,
)
from hypothesis import given, settings
from hypothesis import strategies as st

NUMPY = NumpyProducts()


def units(rows: int, seed: int) -> np.ndarray[Any, Any]:
    """Return unit vectors of few directions, so that many are equal."""
    random = np.random.default_rng(seed)
    matrix = random.integers(-1, 2, size=(rows, 3)).astype(np.float32)
    matrix[~matrix.any(axis=1)] = 1
    return matrix / np.linalg.norm(matrix, axis=1)[:, None]


def check(rows: np.ndarray[Any, Any], arithmetic: MatrixProducts, block: int, floor: float) -> None:
    products = (rows @ rows.T).astype(np.float64)
    products[np.tri(len(rows), dtype=bool)] = -2
    found = find_neighbours(rows, arithmetic, floor, block)
    best = products.max(axis=0)
    np.testing.assert_allclose(found.similarities, best, atol=1e-6)
    for row, place in enumerate(found.places):
        if best[row] < floor - 1e-6:
            assert place == -1
        elif best[row] > floor + 1e-6:
            assert place == np.flatnonzero(products[:, row] > best[row] - 1e-6)[0]


@settings(max_examples=60)
@given(
    rows=st.integers(1, 40),
    seed=st.integers(0, 99),
    block=st.sampled_from([1, 2, 7, 64]),
    floor=st.sampled_from([0.4, 0.9, 0.999]),
)
def test_blocks_give_the_result_of_the_whole_matrix(
    rows: int, seed: int, block: int, floor: float
) -> None:
    check(units(rows, seed), NUMPY, block, floor)


@pytest.mark.parametrize("block", [5, 64])
def test_torch_gives_the_result_of_numpy(block: int) -> None:
    pytest.importorskip("torch")
    check(units(40, 1), TorchProducts("cpu"), block, 0.9)


def test_gpu_is_used_if_requested_and_granted() -> None:
    there = WorkerInfo(gpu_ids=("0",))
    assert isinstance(products_for(Resources(gpus=1), WorkerInfo()), NumpyProducts)
    assert isinstance(products_for(Resources(), there), NumpyProducts)
    pytest.importorskip("torch")
    assert isinstance(products_for(Resources(gpus=1), there), TorchProducts)
