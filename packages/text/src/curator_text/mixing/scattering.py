"""Scattering: assign random keys, by which an exchange distributes rows to buckets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage
from curator_core.model.arrow import rows_at, with_column

from curator_text.mixing.keys import KEY, key_column, row_keys

_CHOICE = -1


@dataclass
class Scattering(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Assigns a key to each row. With `copies`, rows are also repeated or left out.

    Each copy is emitted as a separate batch, so that many copies need no more memory than one.
    """

    seed: int
    text_field: str = "text"
    copies: Mapping[str, tuple[int, int]] | None = field(default=None, repr=False)
    """By batch, the number of full copies, and the number of rows to take once more. If unset, each
    row is taken once."""
    shares: str = ""
    """A hash of `copies`, so that other copies make a different pipeline."""

    source: str | None = None
    source_field: str | None = None
    """Output column for the source of a row."""

    def outputs(self) -> Sequence[str]:
        return (KEY,) if self.source_field is None else (KEY, self.source_field)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        whole, extra = self._copies_of(task)
        for copy in range(whole):
            yield self._keyed(task, copy, None)
        if extra:
            yield self._keyed(task, whole, self._chosen(task, extra))
        if not whole and extra < task.num_items:
            yield Dropped("beyond the share of its source", task.num_items - extra)

    def _copies_of(self, task: DocumentBatch) -> tuple[int, int]:
        if self.copies is None:
            return 1, 0
        try:
            return self.copies[task.task_id]
        except KeyError:
            raise InputError(
                "this batch was not counted, so the input has changed since; "
                "run the same command again"
            ) from None

    def _chosen(self, task: DocumentBatch, number: int) -> list[int]:
        """Return the rows with the smallest keys.

        These keys are independent of the output order.
        """
        keys = list(row_keys(task, self.text_field, self.seed, _CHOICE))
        return sorted(sorted(range(len(keys)), key=keys.__getitem__)[:number])

    def _keyed(self, task: DocumentBatch, copy: int, rows: Sequence[int] | None) -> DocumentBatch:
        keys = key_column(row_keys(task, self.text_field, self.seed, copy))
        table = with_column(task.data, KEY, keys)
        if self.source_field is not None:
            names = pa.array([self.source] * table.num_rows, pa.string())
            table = with_column(table, self.source_field, names)
        return task.with_data(table if rows is None else rows_at(table, rows))
