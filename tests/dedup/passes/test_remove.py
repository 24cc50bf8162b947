"""Decisions are looked up by the positions of documents or the ids of rows."""

import numpy as np
import pyarrow as pa
from curator_dedup.columns import DIGEST
from curator_dedup.passes.remove import Decisions, no_decisions


def decisions() -> Decisions:
    table = pa.table({
        "keep": [False, True, False],
        "is_duplicate": [True, False, True],
        "cluster_id": pa.array([b"a" * 16, b"b" * 16, None], DIGEST),
        "cluster_size": pa.array([3, 2, None], pa.int64()),
    })  # fmt: skip
    return Decisions(np.array([30, 10, 20]), table)


def test_keys_without_a_decision_are_kept() -> None:
    mask = decisions().kept(np.array([40, 30, 10, 0, 20]))
    assert mask is not None
    assert mask.tolist() == [True, False, True, True, False]


def test_no_mask_if_all_are_kept() -> None:
    assert decisions().kept(np.array([10, 11])) is None
    assert decisions().kept(np.array([], np.int64)) is None
    assert no_decisions().kept(np.array([10])) is None


def test_unique_rows_are_clusters_of_one() -> None:
    columns = decisions().cluster_columns(np.array([30, 5, 20]))
    assert columns["cluster_id"].to_pylist() == [(b"a" * 16).hex(), None, None]
    assert columns["cluster_size"].to_pylist() == [3, 1, 1]
    assert columns["is_duplicate"].to_pylist() == [True, False, True]
    assert no_decisions().cluster_columns(np.array([1]))["cluster_size"].to_pylist() == [1]
