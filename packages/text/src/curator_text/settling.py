"""Settling: build a stage's outputs from the verdicts on its rows."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, Rejected
from curator_core.model.arrow import rows_at
from curator_core.model.scores import Scores, tell_scores

from curator_text.chosen_rows import ChosenRows, Rows
from curator_text.judging import Ending, Verdicts

Outcomes: TypeAlias = list[DocumentBatch | Dropped | Rejected]

_SHOWN_BYTES = 4096
"""The most bytes of a rejected record to show in reports; a retry keeps all of it."""

VERDICTS = "curator_text.verdicts"
"""The key in `task.derived` under which a stage stores verdicts for later stages."""


class Settling:
    """A batch with verdicts on its rows.

    The last stage of a row copies the kept rows; earlier stages only mark rows as dropped.
    """

    def __init__(
        self, task: DocumentBatch, rows: Rows, *, copies: bool = True, score: str | None = None
    ) -> None:
        self.task = task
        self.rows = rows
        self.copies = copies
        """Whether the last stage copies the kept rows; false if another row of stages follows."""
        self.score = score or "score"
        """The name of the stage's scores in the report."""

    def with_column(self, name: str, values: pa.ChunkedArray) -> "Settling":
        """Return the same batch with another column; `values` covers every judged row."""
        rows = self.rows.with_column(name, values)
        return Settling(self.task, rows, copies=self.copies, score=self.score)

    def by(self, verdicts: Verdicts, token: str) -> Outcomes:
        kept = self.kept(verdicts, token)
        return [kept, *self.gone(verdicts, token)]

    def kept(self, verdicts: Verdicts, token: str) -> DocumentBatch:
        """Return the kept rows, with the verdicts that later stages need."""
        is_last = token == verdicts.members[-1]
        rows = self._stays(verdicts, token)
        if len(rows) == len(self.rows):
            rows = self.rows
        if is_last and self.copies:
            table = rows.copied()
            is_task = table is vars(self.task).get("data")  # task.data would copy the rows
            kept = self.task if is_task else self.task.with_data(table)
        else:
            kept = ChosenRows(rows, self.task)
        kept.derived[VERDICTS] = None if is_last else verdicts
        tell_scores(kept, self.score, verdicts.scores.get(token, Scores()))
        return kept

    def gone(self, verdicts: Verdicts, token: str) -> Iterator[Dropped | Rejected]:
        """Yield the dropped and failed rows, with reasons."""
        places = self.rows.without(self._stays(verdicts, token))
        for ending, found in verdicts.ended(places):
            if ending.failed:
                yield from map(partial(self._rejected, ending), found)
            else:
                yield Dropped(ending.reason, len(found), partial(self._those, found))

    def _stays(self, verdicts: Verdicts, token: str) -> Rows:
        return self.rows.only(verdicts.mask(token))

    def _those(self, places: Sequence[int]) -> DocumentBatch:
        return self.task.with_data(rows_at(self.rows.table, places))

    def _rejected(self, ending: Ending, place: int) -> Rejected:
        one = self._those([place])
        row = self.rows.rank(place)
        where = f"{_name_of(one)}row {row} of its batch"
        damaged = ending.damaged
        return Rejected(ending.reason, where, payload=_shown(one), row=row, damaged=damaged)


def _name_of(record: DocumentBatch) -> str:
    """Return the record's id if it has one, so that users can find it in the input."""
    if "id" not in record.data.column_names:
        return ""
    try:
        return f"id {record.data['id'][0].as_py()!r}, "
    except UnicodeDecodeError:
        return ""


def _shown(record: DocumentBatch) -> bytes | None:
    """Return the start of the record as JSON, or None if JSON cannot represent it."""
    try:
        [row] = record.to_pylist()
        return json.dumps(row, default=str).encode()[:_SHOWN_BYTES]
    except (UnicodeDecodeError, ValueError):
        return None
