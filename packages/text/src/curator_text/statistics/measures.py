"""Measures: lengths of texts and values of columns."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.io.statistics import ColumnSummary, Summary

LENGTHS = ("characters", "words", "lines")


def summary_of(
    table: pa.Table, texts: Sequence[str | None], columns: Sequence[str], label: str
) -> Summary:
    """Summarize the lengths of texts, named with the prefix `label`, and the values of columns."""
    summary = Summary()
    for text in texts:
        lengths = (None,) * len(LENGTHS) if text is None else _lengths(text)
        for name, length in zip(LENGTHS, lengths, strict=True):
            summary.column(f"{label} {name}").add(length)
    for name in columns:
        _add(summary.column(name), table.column(name))
    return summary


def _lengths(text: str) -> tuple[int, int, int]:
    """Count characters, words and non-blank lines; the last line needs no line end."""
    return len(text), len(text.split()), sum(1 for line in text.splitlines() if line.strip())


def _add(summary: ColumnSummary, column: pa.ChunkedArray) -> None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if not _is_countable(column.type):
        column = pc.cast(column.is_valid(), pa.string())  # count only missing and present values
    for pair in pc.value_counts(column).to_pylist():
        summary.add(_plain(pair["values"]), pair["counts"])


def _is_countable(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string,
             pa.types.is_large_string, pa.types.is_null)  # fmt: skip
    return any(test(kind) for test in tests)


def _plain(value: Any) -> float | str | bool | None:
    return value if value is None or isinstance(value, str | bool) else float(value)
