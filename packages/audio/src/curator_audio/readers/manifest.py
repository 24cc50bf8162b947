"""Manifests: a line of JSON per recording or segment.

Sources are much smaller than for documents, since a line of three hundred bytes may name an hour of
sound: sources are distributed over workers, and a resumed run repeats only unfinished ones.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar, cast

import pyarrow as pa
from curator_core import AnyStage, DocumentBatch, Dropped, FileGroup, FilePart, Rejected
from curator_core.io.filesystems import parent_of
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers import (
    Columns,
    FileReader,
    JsonlReader,
    JsonlReading,
    Piece,
    ReadingStage,
)

from curator_audio.audio_batch import OFFSET, PATH, SCATTERED, AudioBatch
from curator_audio.readers.segment_grouping import (
    ManifestPartitioning,
    mark_scattered,
    resolve_path,
)

PART_BYTES = 16 * 1024
"""Size of a source within a list: about sixty lines."""

BATCH_ROWS = 32
"""Recordings per batch; models process them together."""

R = TypeVar("R", bound=FileReader)


def with_small_sources(reader: R) -> R:
    """Return a copy of the reader with small sources, unless their size was configured."""
    fine = copy(reader)
    if fine.blocksize is None and fine.files_per_partition is None:
        fine.blocksize = PART_BYTES
    return fine


@dataclass(frozen=True)
class _BatchRows(Columns):
    """Rows that begin a batch, or continue the previous one."""

    begins: bool = True


@dataclass
class ManifestReading(JsonlReading):
    """Read lines, and resolve relative paths of recordings against the manifest's folder.

    Consecutive rows of one recording are in one batch.
    """

    batch: ClassVar[type[DocumentBatch]] = AudioBatch
    audio_root: str | None = field(default=None, kw_only=True)

    def makes_several(self) -> bool:
        return True

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped | Rejected]:
        return mark_scattered(super().process(task), task.metadata.get(SCATTERED, _NOT_SCANNED))

    def pieces(self, part: FilePart) -> Iterator[Piece[Columns] | Rejected]:
        folder = parent_of(part.path) if self.audio_root is None else self.audio_root
        batches = _BatchSplitter()
        for piece in super().pieces(part):
            if isinstance(piece, Rejected):
                yield piece
                continue
            columns = _resolve_paths(piece.content, folder)
            for rows in batches.split(columns):
                yield Piece(rows, piece.size if rows.begins else 0)

    def fits(self, before: Columns, piece: Columns) -> bool:
        return isinstance(piece, _BatchRows) and not piece.begins


_NOT_SCANNED = (
    f"the first lines of the manifests have no {OFFSET}, so it was not checked whether the "
    "segments of a recording are consecutive; read manifests of segments with a separate reader"
)


@dataclass
class _BatchSplitter:
    """End a batch at the first new recording after `BATCH_ROWS` rows."""

    rows: int = 0
    last: str | None = None

    def split(self, columns: Columns) -> Iterator[_BatchRows]:
        begins, start = not self.rows, 0
        for row, path in enumerate(_paths(columns)):
            if self.rows >= BATCH_ROWS and (path is None or path != self.last):
                if row > start:
                    yield _slice(columns, start, row, begins=begins)
                begins, start, self.rows = True, row, 0
            self.rows += 1
            self.last = path
        yield _slice(columns, start, columns.rows, begins=begins)


def _slice(columns: Columns, start: int, end: int, *, begins: bool) -> _BatchRows:
    kinds = columns.arrays.items()
    arrays = {name: (kind, array.slice(start, end - start)) for name, (kind, array) in kinds}
    return _BatchRows(arrays, end - start, begins)


def _paths(columns: Columns) -> list[str | None]:
    _, paths = columns.arrays.get(PATH, ("", None))
    if paths is None or not pa.types.is_string(paths.type):
        return [None] * columns.rows
    found: list[str | None] = paths.to_pylist()
    return found


def _resolve_paths(columns: Columns, folder: str) -> Columns:
    kind, paths = columns.arrays.get(PATH, ("", None))
    if paths is None or not pa.types.is_string(paths.type) or not folder:
        return columns
    absolute = [resolve_path(folder, path) for path in paths.to_pylist()]
    return replace(
        columns, arrays={**columns.arrays, PATH: (kind, pa.array(absolute, pa.string()))}
    )


@dataclass
class ManifestReader(JsonlReader):
    """Read manifests: a line of JSON per recording, or per segment with `offset`.

    A source is about sixty lines, unless `blocksize` or `files_per_partition` is set. Consecutive
    segments of one recording stay together: manifests of segments are scanned once beforehand to
    find where recordings end.
    """

    audio_root: str | None = None
    """Folder that relative paths of recordings refer to. The folder of the manifest by default."""

    reading = ManifestReading

    def decompose(self) -> Sequence[AnyStage]:
        listing, reading = super(ManifestReader, with_small_sources(self)).decompose()
        given = {one.name: getattr(listing, one.name) for one in fields(FilePartitioning)}
        survey = ManifestPartitioning(**given, audio_root=self.audio_root)
        return [survey.with_(name=listing.name), reading]

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(ManifestReading, super().reading_stage(listing))
        return replace(stage, audio_root=self.audio_root)
