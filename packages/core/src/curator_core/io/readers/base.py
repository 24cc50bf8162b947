"""Base classes of readers: options, batches of bounded size, and ids."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import pyarrow as pa

from curator_core.errors import InputError, hint, is_damaged_input
from curator_core.io.filesystems import StorageOptions, base_name, paths_as_text
from curator_core.io.partitioning import SAMPLED_FILES, FilePartitioning, Split
from curator_core.io.readers.tables import is_too_wide
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.tasks import Dropped, Empty, Rejected

BATCH_BYTES = 33 * 1024 * 1024
"""Maximum size of a batch: a part of 32 MiB and the last line that exceeds it fit in one."""

SAMPLED_PIECES = 100_000
"""More than a block of JSON Lines has lines: its bad lines come before its records."""
MOST_SHOWN = 3

P = TypeVar("P")

SampledColumns: TypeAlias = tuple[str, tuple[str, ...]]
"""A file path and the columns of the file."""


@dataclass(frozen=True)
class Piece(Generic[P]):
    """Content read from one file, and its size in bytes."""

    content: P
    size: int
    columns: Collection[str] = ()
    """Column names, if they may differ between pieces."""

    rows: int = 0


@dataclass
class ReadingStage(ProcessingStage[FileGroup, DocumentBatch], Generic[P], ABC):
    """Read groups of files into batches. Subclasses define the pieces of a file format."""

    batch: ClassVar[type[DocumentBatch]] = DocumentBatch
    """Class of the output batches; other modalities have their own."""

    fields: list[str] | None = None
    text_field: str | None = "text"
    add_id: bool | str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)
    listing: FilePartitioning | None = field(default=None, repr=False)

    @abstractmethod
    def pieces(self, part: FilePart) -> Iterator[Piece[P] | Dropped | Rejected]:
        """Yield the content of a file in pieces. Raise InputError if nothing in it can be read."""

    @abstractmethod
    def table(self, pieces: Sequence[P]) -> pa.Table:
        """Return consecutive pieces as one table."""

    @abstractmethod
    def sample(self, part: FilePart) -> tuple[str, ...]:
        """Return the columns at the beginning of a file, without reading all of it."""

    def fits(self, before: P, piece: P) -> bool:
        """Return whether two pieces can be in one table."""
        return True

    @property
    def id_column(self) -> str | None:
        return "id" if self.add_id is True else self.add_id or None

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped | Rejected]:
        batches = _Batches(self, task.task_id)
        failed: list[Rejected] = []
        error: InputError | None = None
        for row, part in enumerate(task.data):
            read = False
            try:
                for piece in self.pieces(part):
                    read = True
                    if isinstance(piece, Dropped | Rejected):
                        yield piece
                    else:
                        yield from batches.add(piece, part.path)
            except InputError as why:
                error = error or why
                again = None if read else row  # a retry would duplicate what was already read
                failed.append(
                    Rejected(str(why), str(part), row=again, damaged=is_damaged_input(why))
                )
        yield from batches.rest()
        if error is not None and len(failed) == len(task.data):
            raise error
        yield from failed  # the other files of the group were read

    def check(self) -> Iterator[str]:
        sample = self._sample()
        if sample is None:
            return
        path, columns = sample
        for name in self.fields or ():
            if name not in columns:
                yield f"{base_name(path)} has no field {name!r}{hint(name, columns)}"
        if self.text_field not in (None, "text", *columns):
            yield (
                f"text_field is {self.text_field!r}, but {base_name(path)} has no such field"
                f"{hint(str(self.text_field), columns)}"
            )
        if self.id_column in (self.fields or columns):
            yield (
                f"add_id would replace the field {self.id_column!r} that {base_name(path)} has; "
                "name another column, as in add_id='curator_id'"
            )

    def check_content(self) -> Iterator[str]:
        if self._sample() is not None:
            return
        problems = []
        try:
            for part in islice(self.listing.files() if self.listing else (), SAMPLED_FILES):
                problem = self._problem_of(part)
                if problem is None:
                    return  # the files that cannot be read will be quarantined
                problems.append(problem)
        except (InputError, OSError):  # reported by the listing stage
            return
        yield from problems[:MOST_SHOWN]

    def _problem_of(self, part: FilePart) -> str | None:
        """Return why nothing at the beginning of a file can be read, or None if something can."""
        problem = None
        try:
            for piece in islice(self.pieces(part), SAMPLED_PIECES):
                if not isinstance(piece, Rejected):
                    return None
                problem = problem or f"cannot read {piece.where}: {piece.reason}"
        except InputError as error:
            return str(error)
        return problem

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        names: Iterable[str] | None = self.fields
        if names is None:
            sample = self._sample()
            names = sample[1] if sample else None
        if names is None:
            return None
        return frozenset((*names, self.id_column) if self.id_column else names)

    def _sample(self) -> SampledColumns | None:
        """Return the columns of the first file that has any, or None if unknown."""
        if self.listing is None:
            return None
        try:
            for part in islice(self.listing.files(), SAMPLED_FILES):
                columns = self.sample(part)
                if columns:
                    return part.path, columns
        except (
            InputError,
            OSError,
        ):  # reported by the listing stage, or when the file is read
            pass
        return None


class _Batches(Generic[P]):
    """Collect pieces until a batch is full."""

    def __init__(self, stage: ReadingStage[P], task_id: str) -> None:
        self._stage = stage
        self._task_id = task_id
        self._pieces: list[P] = []
        self._sources: dict[str, None] = {}
        self._size = 0
        self._rows = 0
        self._columns: set[str] = set()
        self._held_rows = 0

    def add(self, piece: Piece[P], source: str) -> Iterator[DocumentBatch]:
        is_full = self._size + piece.size > BATCH_BYTES or self._would_be_too_wide(piece)
        if self._pieces and (is_full or not self._stage.fits(self._pieces[-1], piece.content)):
            yield from self.rest()
        self._pieces.append(piece.content)
        self._sources[source] = None
        self._size += piece.size
        self._columns.update(piece.columns)
        self._held_rows += piece.rows

    def _would_be_too_wide(self, piece: Piece[P]) -> bool:
        columns = len(self._columns.union(piece.columns))
        return is_too_wide(columns, self._held_rows + piece.rows)

    def rest(self) -> Iterator[DocumentBatch]:
        if not self._pieces:
            return
        table = self._stage.table(self._pieces)
        metadata: dict[str, Any] = {"source_files": list(self._sources)}
        self._pieces, self._sources, self._size = [], {}, 0
        self._columns, self._held_rows = set(), 0
        yield self._stage.batch(self._with_ids(table), metadata=metadata)

    def _with_ids(self, table: pa.Table) -> pa.Table:
        """Add ids made of the task's id and a number that continues from batch to batch."""
        column = self._stage.id_column
        if column is None:
            return table
        if column in table.column_names:
            raise InputError(
                f"add_id would replace the field {column!r} that the files have; "
                "name another column, as in add_id='curator_id'"
            )
        start, self._rows = self._rows, self._rows + table.num_rows
        ids = [f"{self._task_id}-{row}" for row in range(start, self._rows)]
        return table.add_column(0, column, pa.array(ids, pa.string()))


@dataclass
class FileReader(CompositeStage[Empty, DocumentBatch]):
    """List files and read them into batches."""

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…"""

    fields: list[str] | None = None
    """Columns to keep, in this order; all columns if not set."""

    files_per_partition: int | None = None
    """Number of files per task."""

    blocksize: int | str | None = None
    """Approximate number of bytes per task (256MB): small files are grouped, large ones divided."""

    text_field: str | None = "text"
    """Column that must hold text; null for none. In JSON Lines, records with another type in it are
    quarantined.
    """

    add_id: bool | str | None = None
    """Add an id to each record: true for a column `id`, or the name of the column."""

    limit: int | None = None
    """Maximum number of tasks, for a trial run."""

    file_extensions: str | list[str] | None = None
    """File extensions to read in folders; the usual ones of the format if not set."""

    include: str | list[str] | None = None
    """Only files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """No files whose name, or path in the folder, matches one of these patterns."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    endings: ClassVar[tuple[str, ...]] = ()
    split: ClassVar[Split] = "whole"
    """How a large file may be divided: not at all, at any line, between members or row groups."""

    reading: ClassVar[type[ReadingStage[Any]]]

    def __post_init__(self) -> None:
        self.file_paths = paths_as_text(self.file_paths)

    def decompose(self) -> Sequence[AnyStage]:
        listing = FilePartitioning(
            self.file_paths,
            self.files_per_partition,
            self.blocksize,
            self.limit,
            self.file_extensions or list(self.endings),
            self.include,
            self.exclude,
            self.split,
            self.storage_options,
        )
        reading = self.reading_stage(listing)
        return [listing.with_(name=f"{self.name}_files"), reading.with_(name=self.name)]

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        """Return the stage that reads the files. Readers with more options override this."""
        return self.reading(
            self.fields, self.text_field, self.add_id, self.storage_options, listing
        )
