"""Columns of text, as the documents in them."""

from typing import TYPE_CHECKING, TypeAlias

from curator_core import DocumentBatch

from curator_text.text_columns import text_column

if TYPE_CHECKING:
    import pyarrow as pa

Raw: TypeAlias = str | UnicodeDecodeError | None
"""A text, or why its bytes are none, or nothing."""


def texts_of(task: DocumentBatch, name: str) -> list[Raw]:
    """The texts of a column, row by row. Bytes that are no UTF-8 concern their own row only."""
    column = text_column(task.data, name)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_text_of(scalar) for scalar in column]


def _text_of(scalar: "pa.Scalar") -> Raw:
    try:
        text: str | None = scalar.as_py()
    except UnicodeDecodeError as error:
        return error
    return text
