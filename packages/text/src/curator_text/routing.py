"""Routing: write documents to different folders, by the value of a column.

Each folder is a separate output with its own manifest, so that it is published as safely as any
writer's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    DropSink,
    FileGroup,
    FilePart,
    JsonlWriter,
    ParquetWriter,
    ProcessingStage,
    StagedFile,
    WorkerInfo,
)
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.writers import FileWriter, Mode
from curator_core.model.arrow import rows_where

FORMATS = {"jsonl": JsonlWriter, "parquet": ParquetWriter}
Format: TypeAlias = Literal["jsonl", "parquet"]

_WRITTEN = "curator_text.routed"


@dataclass
class RouteByColumn(CompositeStage[DocumentBatch, FileGroup]):
    """Writes documents to one folder per value of a column, such as a bucket.

    Unlisted and missing values go to the folder named by `others`.
    """

    path: str
    """Parent folder of the folders for each value."""

    column: str = "bucket"
    """The column whose value decides."""

    values: list[str] = field(default_factory=lambda: ["low", "medium", "high"])
    """Values that get their own folder, named after them."""

    others: str = "other"
    """Folder for all other documents."""

    format: Format = "jsonl"
    """Output format: jsonl or parquet."""

    mode: Mode = "error"
    """What to do if a folder holds other data: refuse, append to it, or overwrite it."""

    compression: str | None = None
    """Compression of the files; by default that of the format."""

    fields: list[str] | None = None
    """Columns to write, in this order. If unset, all are written."""

    dropped_path: str | None = None
    """Folder for the records that any stage dropped, each with its stage and reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        names = tuple(self.values)
        routes: list[AnyStage] = [
            Route(self._writer(name, self.dropped_path if not index else None), self.column, name)
            .with_(name=f"{self.name}_{name}")
            for index, name in enumerate(names)
        ]  # fmt: skip
        last = LastRoute(
            self._writer(self.others, None if names else self.dropped_path), self.column, names
        )
        return [*routes, last.with_(name=f"{self.name}_{self.others}")]

    def _writer(self, folder: str, dropped_path: str | None) -> FileWriter:
        options: dict[str, Any] = {} if self.compression is None else {
            "compression": self.compression
        }  # fmt: skip
        return FORMATS[self.format](
            join(self.path, folder),
            mode=self.mode,
            fields=self.fields,
            dropped_path=dropped_path,
            storage_options=self.storage_options,
            **options,
        )


class _WriterStage:
    """Delegates a stage's output settings to the writer inside it."""

    writes: ClassVar[bool] = True

    writer: FileWriter
    column: str

    @property
    def output_path(self) -> str:
        return self.writer.path

    @property
    def dropped_path(self) -> str | None:
        return self.writer.dropped_path

    @property
    def mode(self) -> str:
        return self.writer.mode

    @property
    def storage_options(self) -> StorageOptions | None:
        return self.writer.storage_options

    @property
    def ending(self) -> str:
        return self.writer.ending

    def inputs(self) -> Sequence[str]:
        return [self.column, *self.writer.inputs()]

    def setup(self, worker: WorkerInfo) -> None:
        self.writer.setup(worker)

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        return self.writer.drop_sink(worker)

    def check(self) -> Iterable[str]:
        yield from self.writer.check()

    def write_rows(
        self, task: DocumentBatch, mask: "pa.ChunkedArray"
    ) -> tuple[list[FilePart], tuple[StagedFile, ...]]:
        """Write the rows where `mask` is true; return the new file, if any."""
        rows = rows_where(task.data, mask)
        if not rows.num_rows:
            return [], ()
        written = self.writer.process(task.with_data(rows))
        return list(written.data), written.staged


@dataclass
class Route(_WriterStage, ProcessingStage[DocumentBatch, DocumentBatch]):
    """Writes the documents with one value, and passes all documents on."""

    writer: FileWriter
    column: str
    value: str

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not self.value or "/" in self.value or self.value.startswith((".", "_")):
            yield f"{self.value!r} cannot be the name of a folder: values must be plain names"

    def process(self, task: DocumentBatch) -> DocumentBatch:
        values = task.data.column(self.column)
        mask = pc.fill_null(pc.equal(pc.cast(values, pa.string()), self.value), False)
        parts, staged = self.write_rows(task, mask)
        result = task.with_data(task.data)
        known = task.metadata.get(_WRITTEN, [])
        result.metadata[_WRITTEN] = [*known, *([part.path, part.size] for part in parts)]
        result.staged = staged
        return result


@dataclass
class LastRoute(_WriterStage, ProcessingStage[DocumentBatch, FileGroup]):
    """Writes the remaining documents, and reports the files of all routes."""

    writer: FileWriter
    column: str
    excluded: tuple[str, ...]

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def process(self, task: DocumentBatch) -> FileGroup:
        values = pc.cast(task.data.column(self.column), pa.string())
        mask = pc.invert(pc.is_in(values, pa.array(self.excluded, pa.string())))
        parts, staged = self.write_rows(task, mask)
        earlier = [FilePart(path, size) for path, size in task.metadata.get(_WRITTEN, [])]
        written = FileGroup([*earlier, *parts], task.dataset_name)
        written.staged = staged
        return written
