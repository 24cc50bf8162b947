"""Columns of binary values become numbers, with any chunks, slices and nulls."""

import numpy as np
import pyarrow as pa
from curator_dedup.columns import ID, binary_column, constant_column, numbers_in, words_in


def test_numbers_are_read_from_slices_and_chunks() -> None:
    column = binary_column(np.arange(6, dtype=np.uint64))
    assert numbers_in(column.slice(2, 3)).tolist() == [2, 3, 4]
    assert numbers_in(pa.chunked_array([column, column.slice(5)])).tolist() == [*range(6), 5]
    assert numbers_in(pa.chunked_array([], ID)).tolist() == []
    assert len(numbers_in(pa.nulls(2, ID))) == 2


def test_rows_of_words_keep_their_width() -> None:
    words = np.arange(8, dtype=np.uint64).reshape(-1, 4)
    assert words_in(binary_column(words)).tolist() == words.tolist()
    assert words_in(binary_column(words).slice(1)).tolist() == [[4, 5, 6, 7]]
    assert words_in(binary_column(words[:0])).shape == (0, 4)


def test_constant_column_has_one_value() -> None:
    assert constant_column("a", 3).to_pylist() == ["a"] * 3
    assert constant_column("a", 0).to_pylist() == []
