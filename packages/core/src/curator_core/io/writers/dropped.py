"""Dropped records, kept in separate files with the stage and the reason."""

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

import pyarrow as pa

from curator_core.io.atomic_write import open_draft
from curator_core.io.filesystems import StorageOptions, join
from curator_core.model.documents import DocumentBatch
from curator_core.model.resources import WorkerInfo
from curator_core.model.stages import DropSink
from curator_core.model.tasks import AnyTask, StagedFile

STAGE_COLUMN = "_dropped_by"
REASON_COLUMN = "_dropped_because"

_PART_BYTES = 32 * 1024 * 1024


class DropWriter(Protocol):
    """The writer that defines the format and folder of the dropped records."""

    dropped_path: str | None
    storage_options: StorageOptions | None

    @property
    def ending(self) -> str: ...
    def shared(self, tables: Sequence[pa.Table]) -> Iterable[list[pa.Table]]: ...
    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None: ...


@dataclass(frozen=True)
class _EncodedFile:
    """A finished file without a name."""

    content: BinaryIO
    items: int


class DroppedFiles(DropSink):
    """Collect dropped records in memory, and above 32 MiB in unnamed files on the local disk."""

    def __init__(self, keeper: DropWriter, worker: WorkerInfo) -> None:
        self._keeper = keeper
        self._worker = worker
        self._tables: list[pa.Table] = []
        self._size = 0
        self._parts: list[_EncodedFile] = []

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        table = _with_reason(_table_of(records), stage, reason)
        if not table.num_rows:
            return
        self._tables.append(table)
        self._size += table.nbytes
        if self._size > _PART_BYTES:
            self._encode()

    def finish(self, call_id: str) -> list[StagedFile]:
        self._encode()
        parts, self._parts = self._parts, []
        return [self._write_staged(part, call_id, number) for number, part in enumerate(parts)]

    def _encode(self) -> None:
        tables, self._tables, self._size = self._tables, [], 0
        if not tables:
            return
        for group in self._keeper.shared(tables):
            content = cast(BinaryIO, tempfile.SpooledTemporaryFile(_PART_BYTES))  # noqa: SIM115
            self._keeper.write(group, content)
            self._parts.append(_EncodedFile(content, sum(table.num_rows for table in group)))

    def _write_staged(self, part: _EncodedFile, call_id: str, number: int) -> StagedFile:
        suffix = f"-{number}" if number else ""
        name = f"dropped-{call_id}{suffix}{self._keeper.ending}"
        final = join(self._keeper.dropped_path or "", name)
        with open_draft(final, self._worker, self._keeper.storage_options) as draft, part.content:
            part.content.seek(0)
            shutil.copyfileobj(part.content, draft.file, 1024 * 1024)
            draft.items = part.items
            draft.dropped = True
        return draft.staged_file()


def _table_of(records: AnyTask) -> pa.Table:
    """Return the records. For tasks without records, return one row that identifies the task."""
    if isinstance(records, DocumentBatch):
        return records.data
    facts = {"task": type(records).__name__, "task_id": records.task_id}
    identity = records.identity()
    return pa.Table.from_pylist([facts if identity is None else {**facts, "identity": identity}])


def _with_reason(table: pa.Table, stage: str, reason: str) -> pa.Table:
    for name, value in ((STAGE_COLUMN, stage), (REASON_COLUMN, reason)):
        if name in table.column_names:  # dropped before, and read again
            table = table.drop_columns([name])
        table = table.append_column(name, pa.array([value] * table.num_rows, pa.string()))
    return table
