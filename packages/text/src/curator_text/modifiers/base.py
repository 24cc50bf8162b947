"""Modifiers: stages that rewrite one text column and keep every document."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected
from curator_core.model.arrow import with_column

from curator_text.row_errors import RowErrors, storable
from curator_text.text_columns import find_invalid_utf8, text_column, to_text_column


@dataclass
class TextModifier(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Rewrites a text column as a whole. A missing text stays missing."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    @abstractmethod
    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the new texts, in the same order."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        errors = RowErrors(task, find_invalid_utf8(text_column(task.data, self.text_field)))
        return errors.apply(self._modify_table)

    def _modify_table(self, table: pa.Table) -> pa.Table:
        texts = self.modify(text_column(table, self.text_field))
        return with_column(table, self.text_field, texts)


@dataclass
class TextRewriter(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Rewrites a text column one text at a time. A missing text stays missing.

    A text that cannot be rewritten is quarantined alone; the rest of its batch continues.
    """

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    @abstractmethod
    def rewrite(self, text: str) -> str:
        """Return the new text."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        column = text_column(task.data, self.text_field)
        damage = find_invalid_utf8(column)
        errors = RowErrors(task, damage)
        texts: list[str | None] = []
        for row, scalar in enumerate(column if damage else column.to_pylist()):
            if row in damage:
                continue
            text = scalar.as_py() if damage else scalar
            with errors.of(row):
                texts.append(None if text is None else _text(self.rewrite(text)))
        return errors.apply(
            lambda table: with_column(table, self.text_field, to_text_column(texts, column.type))
        )


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"rewrite returned {given!r:.60}, but must return a text")
    return storable(given)
