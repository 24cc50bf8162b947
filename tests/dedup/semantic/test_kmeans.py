"""K-means finds planted groups, and is deterministic."""

from typing import Any

import numpy as np
import pytest
from curator_dedup.semantic.kmeans import MiniBatchKMeans
from curator_dedup.semantic.matmul import NumpyProducts, nearest

ARITHMETIC = NumpyProducts()


def planted(groups: int, each: int, size: int = 32) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    middles = random.normal(size=(groups, size))
    rows = np.repeat(middles, each, axis=0) + 0.1 * random.normal(size=(groups * each, size))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    return rows.astype(np.float32), np.repeat(np.arange(groups), each)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_planted_groups_are_found(init: Any) -> None:
    rows, truth = planted(8, 300)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    centers = MiniBatchKMeans(8, init).centers(rows[shuffled], ARITHMETIC)
    products, labels = nearest(ARITHMETIC, centers, rows)
    if init == "k-means++":
        assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == 8
    assert products.mean() > 0.8
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1, atol=1e-5)
    again = MiniBatchKMeans(8, init).centers(rows[shuffled], ARITHMETIC)
    assert np.array_equal(centers, again)
    other = MiniBatchKMeans(8, init, seed=1).centers(rows[shuffled], ARITHMETIC)
    assert not np.array_equal(centers, other)


def test_no_more_centers_than_distinct_rows() -> None:
    rows = np.tile(np.eye(3, dtype=np.float32), (50, 1))
    for init in ("k-means++", "random"):
        centers = MiniBatchKMeans(10, init).centers(rows, ARITHMETIC)
        assert sorted(map(tuple, centers.tolist())) == sorted(map(tuple, np.eye(3).tolist()))
