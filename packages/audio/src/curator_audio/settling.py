"""Row selection: keep rows without a fault, drop the others, and record scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from curator_core import Dropped
from curator_core.model.scores import Scores, tell_scores

Values = Sequence[float | None]


def settled(
    batch: Any, faults: Sequence[str | None], scores: Mapping[str, Values] | None = None
) -> Iterator[Any]:
    """Yield the rows without a fault, and a drop for each reason.

    `scores` are the values that decided, by name, for the report of the run.
    """
    told = scores or {}
    yield from dropped(batch, faults, told)
    kept = [row for row, fault in enumerate(faults) if fault is None]
    if kept:
        left = batch
        if len(kept) < len(faults):
            left = batch.keep([fault is None for fault in faults], "")[0]
        for name, values in told.items():
            tell_scores(left, name, Scores.of(_known(values, kept)))
        yield left


def dropped(
    batch: Any, faults: Sequence[str | None], scores: Mapping[str, Values] | None = None
) -> Iterator[Dropped]:
    """Yield a drop for each reason, with its rows."""
    told = scores or {}
    for reason in dict.fromkeys(filter(None, faults)):
        rows = [row for row, fault in enumerate(faults) if fault == reason]
        # Without decoded samples, so that keeping dropped records does not keep samples.
        gone = batch.with_data(batch.data.take(pa.array(rows, pa.int64())))
        for name, values in told.items():
            tell_scores(gone, name, Scores.of([], _known(values, rows)))
        yield Dropped(reason, len(rows), gone)


def numbers_in(columns: Mapping[str, pa.Array]) -> dict[str, Values]:
    """Return the numeric columns."""
    return {
        name: column.to_pylist()
        for name, column in columns.items()
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    }


def _known(values: Values, rows: Sequence[int]) -> list[float]:
    return [value for row in rows if (value := values[row]) is not None]
