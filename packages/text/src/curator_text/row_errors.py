"""Row errors: quarantine the documents that fail and keep the rest of their batch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
from curator_core import DocumentBatch, Rejected
from curator_core.errors import TaskTimeoutError, is_damaged_input, reason_of, user_code_location
from curator_core.model.arrow import rows_where

T = TypeVar("T")


def storable(value: T) -> T:
    """Return the value; raise if it is a text with a lone surrogate, which no file can store."""
    if isinstance(value, str) and not value.isascii():
        value.encode()
    return value


class RowErrors:
    """The rows of a batch that failed, and their errors."""

    def __init__(self, task: DocumentBatch, found: Mapping[int, Exception] | None = None) -> None:
        self._task = task
        self._errors = dict(found or {})

    @contextmanager
    def of(self, row: int) -> Iterator[None]:
        """Record an error raised while working on one row."""
        try:
            yield
        except TaskTimeoutError:  # ends the whole batch
            raise
        except Exception as error:  # noqa: BLE001 - runs a user's function
            self._errors[row] = error

    def good_rows(self) -> pa.Table:
        """Return the rows without an error."""
        table = self._task.data
        if not self._errors:
            return table
        is_good = [row not in self._errors for row in range(table.num_rows)]
        return rows_where(table, pa.array(is_good))

    def apply(self, change: Callable[[pa.Table], pa.Table]) -> list[DocumentBatch | Rejected]:
        """Return the batch with its good rows changed, and its other rows as rejected."""
        changed = self._task.with_data(change(self.good_rows()))
        return [changed, *(self._reject_row(row) for row in sorted(self._errors))]

    def _reject_row(self, row: int) -> Rejected:
        error = self._errors[row]
        where = f"row {row} of {self._task.task_id or 'the batch'}"
        reason = reason_of(error) + user_code_location(error)
        return Rejected(reason, where, row=row, damaged=is_damaged_input(error))
