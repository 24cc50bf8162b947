"""Manifests: lines of JSON that name recordings, as NeMo has them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import pyarrow as pa
from curator_core import AnyStage
from curator_core.documents import DocumentBatch
from curator_core.files import FilePart
from curator_core.filesystems import is_url, join, parent_of
from curator_core.outcomes import Rejected
from curator_core.partitioning import FilePartitioning
from curator_core.reading.columns import Columns
from curator_core.reading.jsonl import JsonlReader, JsonlReading
from curator_core.reading.stages import Piece, ReadingStage

from curator_audio.batches import PATH, AudioBatch
from curator_audio.reading.dividing import TOGETHER, finely


@dataclass
class ManifestReading(JsonlReading):
    """Reads lines, and makes relative paths of recordings those of the manifest's folder."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch
    audio_root: str | None = field(default=None, kw_only=True)

    def makes_several(self) -> bool:
        return True

    def pieces(self, part: FilePart) -> Iterator[Piece[Columns] | Rejected]:
        folder = parent_of(part.path) if self.audio_root is None else self.audio_root
        for piece in super().pieces(part):
            if isinstance(piece, Rejected):
                yield piece
            else:
                rooted = _rooted(piece.content, folder)
                for first in range(0, rooted.rows, TOGETHER):
                    yield Piece(_some(rooted, first), piece.size)

    def fits(self, before: Columns, piece: Columns) -> bool:
        return False  # each piece is a batch, however few bytes it has


def _some(columns: Columns, first: int) -> Columns:
    kinds = columns.arrays.items()
    arrays = {name: (kind, array.slice(first, TOGETHER)) for name, (kind, array) in kinds}
    return Columns(arrays, min(TOGETHER, columns.rows - first))


def _rooted(columns: Columns, folder: str) -> Columns:
    kind, paths = columns.arrays.get(PATH, ("", None))
    if paths is None or not pa.types.is_string(paths.type) or not folder:
        return columns
    absolute = [_below(folder, path) for path in paths.to_pylist()]
    return replace(
        columns, arrays={**columns.arrays, PATH: (kind, pa.array(absolute, pa.string()))}
    )


def _below(folder: str, path: str | None) -> str | None:
    if not path or path.startswith(("/", "~")) or is_url(path):
        return path
    return join(folder, path)


@dataclass
class ManifestReader(JsonlReader):
    """Reads manifests: a line of JSON for each recording, or for each segment with an `offset`.

    About sixty lines make one source, unless `blocksize` or `files_per_partition` says otherwise.
    """

    audio_root: str | None = None
    """Where relative paths of recordings begin; the folder of their manifest unless given."""

    reading = ManifestReading

    def decompose(self) -> Sequence[AnyStage]:
        return super(ManifestReader, finely(self)).decompose()

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(ManifestReading, super().reading_stage(listing))
        return replace(stage, audio_root=self.audio_root)
