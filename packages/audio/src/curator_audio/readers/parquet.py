"""Parquet with recordings: their bytes in a column, or the audio struct of `datasets`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, Rejected
from curator_core.errors import InputError
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers import ParquetReader, ParquetReading, Piece, ReadingStage

from curator_audio.audio_batch import AUDIO, PATH, AudioBatch
from curator_audio.readers.segment_grouping import NOT_GROUPED, mark_scattered

_ROWS = 32
"""Recordings per piece; models process them together."""


@dataclass
class AudioParquetReading(ParquetReading):
    """Read row groups, and rename the columns of recordings to the standard ones."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch
    audio_field: str = field(default=AUDIO, kw_only=True)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped | Rejected]:
        return mark_scattered(super().process(task), NOT_GROUPED)

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Rejected]:
        row = 0
        for piece in super().pieces(part):
            if isinstance(piece, Rejected):
                yield piece
                continue
            for first in range(0, piece.content.num_rows, _ROWS):
                table = self._recordings(part, piece.content.slice(first, _ROWS), row)
                row += table.num_rows
                yield Piece(table, table.nbytes)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        names = (*super().sample(part), AUDIO, PATH)
        return tuple(dict.fromkeys(names))

    def _recordings(self, part: FilePart, table: pa.Table, first: int) -> pa.Table:
        if self.audio_field not in table.column_names:
            raise InputError(f"{part.path} has no column {self.audio_field!r}; set audio_field")
        column = table.column(self.audio_field).combine_chunks()
        data, names = _unpack(part, self.audio_field, column)
        if PATH in table.column_names:
            names = table.column(PATH).to_pylist()
        group = f"{part.start}:" if part.start else ""
        labels = [name or f"{part.path} row {group}{row}" for row, name in enumerate(names, first)]
        kept = [name for name in table.column_names if name not in (self.audio_field, PATH)]
        columns = {
            PATH: pa.array(labels, pa.string()),
            **{name: table.column(name) for name in kept},
            AUDIO: data,
        }
        return pa.table(columns)


def _unpack(part: FilePart, name: str, column: Any) -> tuple[Any, list[str | None]]:
    """Return the bytes, and the paths stored with them."""
    paths: list[str | None] = [None] * len(column)
    if pa.types.is_struct(column.type):
        inside = [one.name for one in column.type]
        if "path" in inside:
            paths = pc.struct_field(column, "path").to_pylist()
        if "bytes" in inside:
            column = pc.struct_field(column, "bytes")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        raise InputError(
            f"column {name!r} of {part.path} is {column.type}, not bytes; set another "
            "audio_field, or read paths with audio.manifest_reader"
        )
    return column.cast(pa.binary()), paths


@dataclass
class AudioParquetReader(ParquetReader):
    """Read Parquet with recordings as bytes, or as the audio struct of `datasets`.

    The bytes are written to `audio`, and the names to `audio_filepath`.
    """

    audio_field: str = field(default=AUDIO, kw_only=True)
    """Column with the encoded recording."""

    reading = AudioParquetReading

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(AudioParquetReading, super().reading_stage(listing))
        stage.audio_field = self.audio_field
        if self.fields is not None:
            stage.fields = list(dict.fromkeys((*self.fields, self.audio_field)))
        return stage
