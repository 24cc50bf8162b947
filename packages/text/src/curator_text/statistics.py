"""Statistics: summarize a corpus in a pipeline, without changing documents."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, ProcessingStage, WorkerInfo
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.statistics import STATISTICS_ENDING, ColumnSummary, Summary
from curator_core.io.writers import Mode, open_draft
from curator_core.model.ids import fingerprint

from curator_text.text_columns import read_texts


@dataclass
class DocumentStatistics(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Collects text lengths (characters, words, non-blank lines) and column values.

    It can be used anywhere in a pipeline, also several times, and passes on all documents. For each
    batch it writes a small file, published with the outputs of its source, so the files count each
    document exactly once. `curate statistics RUN` and the run's report combine them: counts, means,
    quantiles (accurate to 1 %), histograms, most common values.
    """

    writes: ClassVar[bool] = True

    path: str
    """The folder for the statistics."""

    columns: list[str] = field(default_factory=list)
    """Other columns to summarize: scores, languages, sites."""

    label: str = "text"
    """A prefix for the names of the lengths, to tell several statistics stages apart."""

    mode: Mode = "error"
    """What to do if the folder holds other data: refuse, append or overwrite."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    storage_options: StorageOptions | None = field(default=None, kw_only=True, repr=False)
    """fsspec options for an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        self.path = os.fspath(self.path)
        self._worker = WorkerInfo()

    @property
    def output_path(self) -> str:
        return self.path

    def check(self) -> Iterable[str]:
        if not self.path:
            yield "path is empty; name the folder for the statistics"
        if self.mode not in get_args(Mode):
            yield f"mode is {self.mode!r}{hint(str(self.mode), get_args(Mode))}"
        for name in LENGTHS:
            if f"{self.label} {name}" in self.columns:
                yield f"the column {self.label} {name} would be mixed with lengths; change label"

    def inputs(self) -> Sequence[str]:
        return (self.text_field, *self.columns)

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: DocumentBatch) -> DocumentBatch:
        texts = [
            text if isinstance(text, str) else None for text in read_texts(task, self.text_field)
        ]
        summary = summarize(task.data, texts, self.columns, self.label)
        name = task.task_id or fingerprint(task.to_payload())
        final = join(self.path, f"part-{name}{STATISTICS_ENDING}")
        with open_draft(final, self._worker, self.storage_options) as draft:
            draft.file.write(json.dumps(summary.to_json()).encode())
            draft.items = task.num_items
        result = task.twin()
        result.staged = (*task.staged, draft.staged_file())
        return result


LENGTHS = ("characters", "words", "lines")


def summarize(
    table: pa.Table, texts: Sequence[str | None], columns: Sequence[str], label: str
) -> Summary:
    """Summarize the lengths of texts, named with the prefix `label`, and the values of columns."""
    summary = Summary()
    for text in texts:
        lengths = (None,) * len(LENGTHS) if text is None else _lengths(text)
        for name, length in zip(LENGTHS, lengths, strict=True):
            summary.column(f"{label} {name}").add(length)
    for name in columns:
        _add_column(summary.column(name), table.column(name))
    return summary


def _lengths(text: str) -> tuple[int, int, int]:
    """Count characters, words and non-blank lines; the last line needs no line end."""
    return len(text), len(text.split()), sum(1 for line in text.splitlines() if line.strip())


def _add_column(summary: ColumnSummary, column: pa.ChunkedArray) -> None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if not _is_countable(column.type):
        column = pc.cast(column.is_valid(), pa.string())  # count only missing and present values
    for pair in pc.value_counts(column).to_pylist():
        summary.add(_to_plain(pair["values"]), pair["counts"])


def _is_countable(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string,
             pa.types.is_large_string, pa.types.is_null)  # fmt: skip
    return any(test(kind) for test in tests)


def _to_plain(value: Any) -> float | str | bool | None:
    return value if value is None or isinstance(value, str | bool) else float(value)
