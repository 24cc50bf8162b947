"""Base class of writers: one file per task, its path, and the checks before a run."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import BinaryIO, ClassVar, Literal, TypeAlias, get_args
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import CuratorError, InputError, hint, reason_of
from curator_core.io.atomic_write import open_draft
from curator_core.io.filesystems import (
    StorageOptions,
    is_local,
    join,
    local_path,
    nearest_folder,
    open_filesystem,
)
from curator_core.io.writers.dropped import DroppedFiles, DropWriter
from curator_core.model.arrow import rows_at, without_views
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.ids import fingerprint
from curator_core.model.resources import WorkerInfo
from curator_core.model.stages import DropSink, ProcessingStage

Mode: TypeAlias = Literal["error", "append", "overwrite"]
"""What a new run does with existing data: refuse, append to it, or replace it."""


@dataclass
class FileWriter(ProcessingStage[DocumentBatch, FileGroup], ABC):
    """Write each batch to its own file, named after the batch.

    With `dropped_path`, records that any stage drops are written there, with stage and reason.
    """

    writes: ClassVar[bool] = True
    compressions: ClassVar[tuple[str, ...]] = ()
    dropped_like: ClassVar[DropWriter | None] = None
    """The writer whose format dropped records have, if not this one; a curation sets it."""

    path: str
    """Folder to write to."""

    mode: Mode = "error"
    """What to do if the folder holds other data: refuse (error), append, or overwrite."""

    compression: str | None = None
    """Compression: gz, zst, bz2 or xz; none if not set."""

    fields: list[str] | None = None
    """Columns to write, in this order; all columns if not set."""

    partition_by: str | None = None
    """Column whose values become folders below path, each with the rows that have this value."""

    dropped_path: str | None = None
    """Another folder, for the records that any stage drops, with the stage and the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        self.path = os.fspath(self.path)
        self.dropped_path = None if self.dropped_path is None else os.fspath(self.dropped_path)
        self._worker = WorkerInfo()

    @property
    @abstractmethod
    def ending(self) -> str:
        """The extension of its files."""

    @abstractmethod
    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        """Write tables that may share a file."""

    def shared(self, tables: Sequence[pa.Table]) -> Iterable[list[pa.Table]]:
        """Group the tables that may share a file."""
        return [list(tables)]

    @property
    def output_path(self) -> str:
        return self.path

    @property
    def output_is_tree(self) -> bool:
        """Whether it also writes to subfolders of its path."""
        return self.partition_by is not None

    def inputs(self) -> Sequence[str]:
        by = () if self.partition_by is None else (self.partition_by,)
        return list(dict.fromkeys((*(self.fields or ()), *by)))

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: DocumentBatch) -> FileGroup:
        name = f"part-{task.task_id or fingerprint(task.to_payload())}{self.ending}"
        written = FileGroup([], task.dataset_name)
        for folder, table in self._parts(task.data):
            self._write_part(written, join(folder, name), table)
        return written

    def _parts(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        """Yield the folders to write to, with the rows for each."""
        if self.partition_by is None:
            yield self.path, table
            return
        for folder, rows in split_by_value(table, self.partition_by):
            yield join(self.path, folder), rows

    def _write_part(self, written: FileGroup, final: str, table: pa.Table) -> None:
        chosen = table if self.fields is None else table.select(self.fields)
        with open_draft(final, self._worker, self.storage_options) as draft:
            self.write([chosen], draft.file)
            draft.items = table.num_rows
        written.data.append(FilePart(draft.final, draft.size))
        written.staged = (*written.staged, draft.staged_file())

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        writer = self.dropped_like or self
        return DroppedFiles(writer, worker) if writer.dropped_path else None

    def check(self) -> Iterator[str]:
        if self.mode not in get_args(Mode):
            yield f"mode is {self.mode!r}{hint(str(self.mode), get_args(Mode))}"
        if self.compression not in (None, *self.compressions):
            known = hint(str(self.compression), self.compressions)
            yield f"compression is {self.compression!r}{known}"
        if not self.path:
            yield "path is empty; name the folder to write to"
            return
        if self.dropped_path is not None and _is_same_folder(self.path, self.dropped_path):
            yield f"dropped_path and path are both {self.path}; give dropped records another folder"
        for folder in filter(None, (self.path, self.dropped_path)):
            yield from _write_problems(folder, self.storage_options)


def _is_same_folder(one: str, other: str) -> bool:
    return (local_path(one) or one).rstrip("/") == (local_path(other) or other).rstrip("/")


def _write_problems(path: str, storage_options: StorageOptions | None) -> Iterator[str]:
    try:
        fs, folder = open_filesystem(path, storage_options)
    except CuratorError as error:
        yield str(error)
        return
    except OSError as error:
        yield f"cannot write to {path}: {reason_of(error)}"
        return
    if not is_local(fs):
        return
    if os.path.lexists(folder) and not os.path.isdir(folder):
        yield f"cannot write to {path}: it is a file, not a folder; choose another folder"
        return
    nearest = nearest_folder(fs, folder)
    if not os.access(
        nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
    ):
        yield (
            f"cannot write to {path}: permission denied in {nearest}; "
            "allow writing there or choose another folder"
        )


MAX_VALUES = 4096
"""Limit of distinct values in a batch. With more, the column was probably named by mistake."""

_LONGEST = 180
_HIDDEN = (".", "_")


def split_by_value(table: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the folder and the rows of each value; rows keep their order."""
    values = without_views(table.select([column])).column(0)
    _refuse_other_types(column, values.type)
    encoded = values.combine_chunks() if values.num_chunks else pa.array([], values.type)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    if len(names) > MAX_VALUES:
        raise InputError(
            f"partition_by names {column!r}, which has {len(names):,} different values in one "
            f"batch, and each would be a folder; name a column with at most {MAX_VALUES:,}"
        )
    places = encoded.indices.fill_null(len(names))
    order = pc.sort_indices(places)  # stable: rows of one value keep their order
    sorted_table, sorted_places = rows_at(table, order), places.take(order)
    for place, start, end in _equal_runs(sorted_places):
        value = names[place] if place < len(names) else None
        yield folder_of(value), sorted_table.slice(start, end - start)


def folder_of(value: str | int | bool | None) -> str:
    """Return a unique folder name for a value that readers do not treat as hidden."""
    if value is None or value == "":
        return "%null" if value is None else "%empty"
    name = quote(str(value), safe=" +-=@,", errors="surrogatepass")
    if name.startswith(_HIDDEN):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 33]}-{blake2b(name.encode(), digest_size=16).hexdigest()}"


def _equal_runs(places: pa.Array) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal values in sorted places: value, start and end."""
    runs = pc.run_end_encode(places.cast(pa.int64()))
    ends = [0, *runs.run_ends.to_pylist()]
    for place, (start, end) in zip(runs.values.to_pylist(), pairwise(ends), strict=True):
        yield place, start, end


def _refuse_other_types(column: str, kind: pa.DataType) -> None:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer,
              pa.types.is_boolean, pa.types.is_null)  # fmt: skip
    if not any(check(plain) for check in checks):
        raise InputError(
            f"partition_by names {column!r}, which holds {kind}; "
            "folders are made of text, whole numbers or true and false"
        )
