"""Collecting statistics in a pipeline, without changing documents."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

from curator_core import DocumentBatch, ProcessingStage, WorkerInfo
from curator_core.errors import hint
from curator_core.io.atomic_write import writing
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.statistics import FILE_ENDING
from curator_core.io.writers.base import Mode
from curator_core.model.lineage import fingerprint

from curator_text.columns import texts_of
from curator_text.statistics.measures import LENGTHS, summary_of


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
            text if isinstance(text, str) else None for text in texts_of(task, self.text_field)
        ]
        summary = summary_of(task.data, texts, self.columns, self.label)
        name = task.task_id or fingerprint(task.to_payload())
        final = join(self.path, f"part-{name}{FILE_ENDING}")
        with writing(final, self._worker, self.storage_options) as draft:
            draft.file.write(json.dumps(summary.to_json()).encode())
            draft.items = task.num_items
        passed = task.twin()
        passed.staged = (*task.staged, draft.finished())
        return passed
