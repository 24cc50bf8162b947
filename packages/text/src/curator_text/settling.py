"""Settling: what a stage makes of a batch once it is known what becomes of each row."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, Rejected

from curator_text.judging import Verdicts

Outcomes: TypeAlias = list[DocumentBatch | Dropped | Rejected]

VERDICTS = "curator_text.verdicts"
"""Where in `task.derived` a stage leaves what was said for those behind it."""


@dataclass
class Settling:
    """A batch, and the column that the scores go to."""

    task: DocumentBatch
    score_field: str | None

    def by(self, verdicts: Verdicts, token: str) -> Outcomes:
        left = None if token == verdicts.members[-1] else verdicts
        if self.score_field is not None:
            self.task = self.task.with_data(self._scored(verdicts.rows[token]))
        mask = verdicts.mask(token)
        if pc.all(mask).as_py() is not False:  # of no rows, null
            self.task.derived[VERDICTS] = left
            return [self.task]
        kept = self.task.with_data(self.task.data.filter(mask))
        kept.derived[VERDICTS] = left and left.only(mask)
        return [kept, *self._gone(verdicts, mask)]

    def _gone(self, verdicts: Verdicts, mask: pa.ChunkedArray) -> Iterator[Dropped | Rejected]:
        for ending, places in verdicts.ended(mask):
            if ending.failed:
                yield from map(partial(self._rejected, ending.reason), places)
            else:
                yield Dropped(ending.reason, len(places), partial(self._those, places))

    def _those(self, places: Sequence[int]) -> DocumentBatch:
        return self.task.with_data(self.task.data.take(pa.array(places, pa.int64())))

    def _rejected(self, reason: str, place: int) -> Rejected:
        one = self._those([place])
        return Rejected(reason, f"{_name_of(one)}row {place} of its batch", payload=_as_bytes(one))

    def _scored(self, column: pa.ChunkedArray) -> pa.Table:
        table = self.task.data
        if self.score_field in table.column_names:
            place = table.column_names.index(self.score_field)
            return table.set_column(place, self.score_field, column)
        return table.append_column(self.score_field, column)


def _name_of(record: DocumentBatch) -> str:
    """The record's own id, where it has one, for whoever looks for it in the input."""
    if "id" not in record.data.column_names:
        return ""
    try:
        return f"id {record.data['id'][0].as_py()!r}, "
    except UnicodeDecodeError:
        return ""


def _as_bytes(record: DocumentBatch) -> bytes:
    """The record as a line of JSON, or as Arrow writes it where JSON cannot hold it."""
    try:
        [row] = record.to_pylist()
        return json.dumps(row, default=str).encode()
    except (UnicodeDecodeError, ValueError):
        return record.to_payload()
