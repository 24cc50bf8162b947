"""Deduplication by hashes, as shared by pictures and recordings."""

import numpy as np
import pyarrow as pa
import pytest
from curator_core import InputError
from curator_dedup.columns import binary_column
from curator_dedup.hamming import priority_column


def test_missing_priority_is_the_lowest() -> None:
    table = pa.table(
        {"rank": [3, None, -1], "score": [0.5, float("nan"), None], "name": list("abc")}
    )
    assert priority_column(table, "rank").to_pylist() == [3.0, -np.inf, -1.0]
    assert priority_column(table, "score").to_pylist() == [0.5, -np.inf, -np.inf]
    assert priority_column(table, None).to_pylist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="'name', which holds string; name a column of numbers"):
        priority_column(table, "name")


def test_hashes_become_bytes() -> None:
    hashes = np.arange(8, dtype=np.uint8).reshape(2, 4)
    assert binary_column(hashes[:, ::-1]).to_pylist() == [b"\3\2\1\0", b"\7\6\5\4"]
