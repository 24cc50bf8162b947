"""Row selection: keep rows without a drop reason, drop the others, and record scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from curator_core import Dropped
from curator_core.model.scores import Scores, attach_scores

Values = Sequence[float | None]


def apply_drop_reasons(
    batch: Any, reasons: Sequence[str | None], scores: Mapping[str, Values] | None = None
) -> Iterator[Any]:
    """Yield the rows without a reason, and a drop for each reason.

    `scores` are the values that decided, by name, for the report of the run.
    """
    scores = scores or {}
    yield from drop_rows(batch, reasons, scores)
    kept = [row for row, reason in enumerate(reasons) if reason is None]
    if kept:
        remaining = batch
        if len(kept) < len(reasons):
            remaining = batch.keep([reason is None for reason in reasons], "")[0]
        for name, values in scores.items():
            attach_scores(remaining, name, Scores.of(_known_values(values, kept)))
        yield remaining


def drop_rows(
    batch: Any, reasons: Sequence[str | None], scores: Mapping[str, Values] | None = None
) -> Iterator[Dropped]:
    """Yield a drop for each reason, with its rows."""
    scores = scores or {}
    for reason in dict.fromkeys(filter(None, reasons)):
        rows = [row for row, given in enumerate(reasons) if given == reason]
        # Without decoded samples, so that keeping dropped records does not keep samples.
        dropped = batch.with_data(batch.data.take(pa.array(rows, pa.int64())))
        for name, values in scores.items():
            attach_scores(dropped, name, Scores.of([], _known_values(values, rows)))
        yield Dropped(reason, len(rows), dropped)


def numeric_columns(columns: Mapping[str, pa.Array]) -> dict[str, Values]:
    """Return the numeric columns."""
    return {
        name: column.to_pylist()
        for name, column in columns.items()
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    }


def _known_values(values: Values, rows: Sequence[int]) -> list[float]:
    return [value for row in rows if (value := values[row]) is not None]
