"""Rejecting rows: an error in one document leaves the others of its batch alone."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
from curator_core import DocumentBatch, Rejected
from curator_core.errors import is_damage, place_of, reason_of
from curator_core.execution.timeouts import TaskTimeoutError
from curator_core.model.arrow import rows_where

T = TypeVar("T")


def storable(value: T) -> T:
    """The value, unless it is a text that no file can hold: one with half of a character in it."""
    if isinstance(value, str) and not value.isascii():
        value.encode()
    return value


class RowErrors:
    """Which rows of the batch that a stage was given could not be worked on, and why."""

    def __init__(self, task: DocumentBatch, found: Mapping[int, Exception] | None = None) -> None:
        self._task = task
        self._errors = dict(found or {})

    @contextmanager
    def of(self, row: int) -> Iterator[None]:
        """Take note of an error in the work on one row."""
        try:
            yield
        except TaskTimeoutError:  # it ends the work on all of them
            raise
        except Exception as error:  # noqa: BLE001 - the border to a user's function
            self._errors[row] = error

    def good(self) -> pa.Table:
        """The rows without an error."""
        table = self._task.data
        if not self._errors:
            return table
        is_good = [row not in self._errors for row in range(table.num_rows)]
        return rows_where(table, pa.array(is_good))

    def settle(self, change: Callable[[pa.Table], pa.Table]) -> list[DocumentBatch | Rejected]:
        """The batch, its good rows changed, and the others as what is set aside."""
        changed = self._task.with_data(change(self.good()))
        return [changed, *(self._rejected(row) for row in sorted(self._errors))]

    def _rejected(self, row: int) -> Rejected:
        error = self._errors[row]
        where = f"row {row} of {self._task.task_id or 'the batch'}"
        reason = reason_of(error) + place_of(error)
        return Rejected(reason, where, row=row, damaged=is_damage(error))
