"""Columns of text as Python values."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from curator_core import DocumentBatch

from curator_text.text_columns import pieces_of, text_column

if TYPE_CHECKING:
    import pyarrow as pa

Raw: TypeAlias = str | UnicodeDecodeError | None
"""A text, a decoding error for bytes that are not UTF-8, or None if the text is missing."""


def texts_of(task: DocumentBatch, name: str) -> list[Raw]:
    """Return a column's texts row by row. Invalid UTF-8 affects only its own row."""
    return list(each_text(pieces_of(text_column(task.data, name))))


def each_text(pieces: Iterable["pa.ChunkedArray"]) -> Iterator[Raw]:
    """Yield the texts one by one, so that only one piece is in memory at a time."""
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
