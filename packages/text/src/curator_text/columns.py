"""Columns of text, as the documents in them."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from curator_core import DocumentBatch

from curator_text.text_columns import pieces_of, text_column

if TYPE_CHECKING:
    import pyarrow as pa

Raw: TypeAlias = str | UnicodeDecodeError | None
"""A text, or why its bytes are none, or nothing."""


def texts_of(task: DocumentBatch, name: str) -> list[Raw]:
    """The texts of a column, row by row. Bytes that are no UTF-8 concern their own row only."""
    return list(each_text(pieces_of(text_column(task.data, name))))


def each_text(pieces: Iterable["pa.ChunkedArray"]) -> Iterator[Raw]:
    """The same one after another, so that only those of one piece are there at a time."""
    for piece in pieces:
        try:
            texts: list[Raw] = piece.to_pylist()
        except UnicodeDecodeError:
            texts = [_text_of(scalar) for scalar in piece]
        yield from texts


def _text_of(scalar: "pa.Scalar") -> Raw:
    try:
        text: str | None = scalar.as_py()
    except UnicodeDecodeError as error:
        return error
    return text
