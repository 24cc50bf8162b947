"""Fuse neighbouring text rules: one pass over the column, and each rule keeps its own counts."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import AnyTask, DocumentBatch, Dropped, FusedStage, Rejected
from curator_core.model.arrow import rows_at, rows_where, with_column
from curator_core.model.scores import Scores, attach_scores

from curator_text.compiled import engine
from curator_text.rule_results import Outcome, RuleResults
from curator_text.text_columns import text_column

RuleOutputs: TypeAlias = list[DocumentBatch | Dropped | Rejected]

_PREVIEW_BYTES = 4096
"""The most bytes of a rejected record to show in reports; a retry keeps all of it."""


class FusedTextRules(FusedStage):
    """Evaluates several rules over one text column in one pass."""

    def process_members(self, task: AnyTask) -> list[RuleOutputs]:
        assert isinstance(task, DocumentBatch)
        first: Any = self.members[0]
        column = text_column(task.data, first.text_field)
        return list(split_results(task, self.members, engine.evaluate(self.members, column)))


def split_results(
    task: DocumentBatch, rules: Sequence[Any], results: RuleResults
) -> Iterator[RuleOutputs]:
    """Yield what each rule makes of a batch: the rows it kept, dropped and could not process."""
    table = task.data
    for position, rule in enumerate(rules):
        before = table
        if position in results.scores:
            table = before = with_column(table, rule.score_field, results.scores[position])
        if position == 0 and results.edited is not None:
            table = with_column(table, rule.text_field, results.edited)
        ended = results.rows_decided_by(position)
        keep = pc.greater(results.ended_by, position)
        kept = _filter_batch(task, table, keep, is_last=position == len(rules) - 1)
        attach_scores(
            kept, rule.score_field or "score", results.distributions.get(position, Scores())
        )
        yield [kept, *_notes(task, before, ended, results.ended_by, position)]


def _filter_batch(
    task: DocumentBatch, table: pa.Table, keep: pa.ChunkedArray, *, is_last: bool
) -> DocumentBatch:
    if pc.all(keep).as_py() is not False:  # None if there are no rows
        is_same = table is vars(task).get("data")  # task.data would copy the rows
        return task.twin() if is_same else task.with_data(table)
    if is_last:
        return task.with_data(rows_where(table, keep))
    return FilteredBatch(task, table, keep)


def _notes(
    task: DocumentBatch,
    table: pa.Table,
    ended: dict[Outcome, list[int]],
    ended_by: pa.ChunkedArray,
    position: int,
) -> Iterator[Dropped | Rejected]:
    """Yield the dropped and failed rows, with reasons."""
    for outcome, rows in ended.items():
        if not outcome.failed:
            records = partial(_records, task, table, rows)
            yield Dropped(outcome.reason, len(rows), records)
            continue
        for row in rows:
            record = _records(task, table, [row])
            own_row = _count(pc.greater_equal(ended_by.slice(0, row), position))
            where = f"{_id_of(record)}row {own_row} of its batch"
            yield Rejected(
                outcome.reason,
                where,
                payload=_preview(record),
                row=own_row,
                damaged=outcome.damaged,
            )


def _records(task: DocumentBatch, table: pa.Table, rows: Sequence[int]) -> DocumentBatch:
    return task.with_data(rows_at(table, rows))


def _count(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _id_of(record: DocumentBatch) -> str:
    """Return the record's id if it has one, so that users can find it in the input."""
    if "id" not in record.data.column_names:
        return ""
    try:
        return f"id {record.data['id'][0].as_py()!r}, "
    except UnicodeDecodeError:
        return ""


def _preview(record: DocumentBatch) -> bytes | None:
    """Return the start of the record as JSON, or None if JSON cannot represent it."""
    try:
        [row] = record.to_pylist()
        return json.dumps(row, default=str).encode()[:_PREVIEW_BYTES]
    except (UnicodeDecodeError, ValueError):
        return None


class FilteredBatch(DocumentBatch):
    """The rows of a batch that a rule kept, copied only if they are read.

    Only fused rules make it, for the rows between two of them: most of these are never read.
    """

    def __init__(self, task: DocumentBatch, table: pa.Table, keep: pa.ChunkedArray) -> None:
        vars(self).update({**vars(task), "derived": {}, "metadata": dict(task.metadata)})
        vars(self).pop("data", None)
        self._task, self._table, self._keep = task, table, keep
        self._items = _count(keep)

    @property
    def data(self) -> pa.Table:
        return rows_where(self._table, self._keep)

    @property
    def num_items(self) -> int:
        return self._items

    @property
    def num_bytes(self) -> int:
        """Estimate the size from the share of rows kept: the exact size would need a copy."""
        return self._task.num_bytes * self._items // max(1, self._task.num_items)

    def columns(self) -> tuple[str, ...]:
        return tuple(self._table.column_names)

    def with_data(self, data: pa.Table) -> DocumentBatch:  # type: ignore[override]
        """Return an ordinary batch, of the original batch's type."""
        changed = self._task.with_data(data)
        for name in ("dataset_name", "metadata", "task_id", "lineage", "timings", "staged"):
            setattr(changed, name, getattr(self, name))
        return changed

    @property
    def stored_type(self) -> type[DocumentBatch]:
        return type(self._task)

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.with_data(self.data),)


def _same(batch: DocumentBatch) -> DocumentBatch:
    return batch
