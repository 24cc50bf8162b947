"""Manifests: lines of JSON that name recordings, in the format of NeMo."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, cast

import pyarrow as pa
from curator_core import AnyStage, FileGroup
from curator_core.io.filesystems import parent_of
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers.base import Piece, ReadingStage
from curator_core.io.readers.jsonl import JsonlReader, JsonlReading
from curator_core.io.readers.tables import Columns
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FilePart
from curator_core.model.tasks import Dropped, Rejected

from curator_audio.batches import OFFSET, PATH, SCATTERED, AudioBatch
from curator_audio.reading.dividing import TOGETHER, finely
from curator_audio.reading.segments import ManifestPartitioning, rooted, scattered


@dataclass(frozen=True)
class _Rows(Columns):
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
        return scattered(super().process(task), task.metadata.get(SCATTERED, _NOT_SURVEYED))

    def pieces(self, part: FilePart) -> Iterator[Piece[Columns] | Rejected]:
        folder = parent_of(part.path) if self.audio_root is None else self.audio_root
        batches = _BatchEnds()
        for piece in super().pieces(part):
            if isinstance(piece, Rejected):
                yield piece
                continue
            columns = _rooted(piece.content, folder)
            for rows in batches.divided(columns):
                yield Piece(rows, piece.size if rows.begins else 0)

    def fits(self, before: Columns, piece: Columns) -> bool:
        return isinstance(piece, _Rows) and not piece.begins


_NOT_SURVEYED = (
    f"the first lines of the manifests have no {OFFSET}, so it was not checked whether those of a "
    "recording follow each other; read manifests of segments in a reader of their own"
)


@dataclass
class _BatchEnds:
    """End a batch at the first new recording after `TOGETHER` rows."""

    rows: int = 0
    last: str | None = None

    def divided(self, columns: Columns) -> Iterator[_Rows]:
        begins, start = not self.rows, 0
        for row, path in enumerate(_paths(columns)):
            if self.rows >= TOGETHER and (path is None or path != self.last):
                if row > start:
                    yield _slice(columns, start, row, begins=begins)
                begins, start, self.rows = True, row, 0
            self.rows += 1
            self.last = path
        yield _slice(columns, start, columns.rows, begins=begins)


def _slice(columns: Columns, start: int, end: int, *, begins: bool) -> _Rows:
    kinds = columns.arrays.items()
    arrays = {name: (kind, array.slice(start, end - start)) for name, (kind, array) in kinds}
    return _Rows(arrays, end - start, begins)


def _paths(columns: Columns) -> list[str | None]:
    _, paths = columns.arrays.get(PATH, ("", None))
    if paths is None or not pa.types.is_string(paths.type):
        return [None] * columns.rows
    found: list[str | None] = paths.to_pylist()
    return found


def _rooted(columns: Columns, folder: str) -> Columns:
    kind, paths = columns.arrays.get(PATH, ("", None))
    if paths is None or not pa.types.is_string(paths.type) or not folder:
        return columns
    absolute = [rooted(folder, path) for path in paths.to_pylist()]
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
        listing, reading = super(ManifestReader, finely(self)).decompose()
        given = {one.name: getattr(listing, one.name) for one in fields(FilePartitioning)}
        survey = ManifestPartitioning(**given, audio_root=self.audio_root)
        return [survey.with_(name=listing.name), reading]

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(ManifestReading, super().reading_stage(listing))
        return replace(stage, audio_root=self.audio_root)
