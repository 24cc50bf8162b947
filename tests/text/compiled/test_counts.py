"""The buffers that kernels get."""

import pickle

import pyarrow as pa
import pytest

pytest.importorskip("numba")

from curator_text.compiled.counts import TextBuffer, find_blank


def mapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with read-only memory, as from an object store."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(column, protocol=5, buffer_callback=buffers.append)
    copied: pa.ChunkedArray = pickle.loads(body, buffers=[bytes(b.raw()) for b in buffers])
    return copied


def test_kernels_are_compiled_once_for_mapped_and_other_columns() -> None:
    column = pa.chunked_array([["a text", " ", None]])

    for one in (column, mapped(column), pa.chunked_array([[""]])):
        TextBuffer(one).blank()

    assert len(find_blank.signatures) == 1  # type: ignore[attr-defined]
