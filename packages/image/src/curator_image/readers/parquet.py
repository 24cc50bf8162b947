"""Parquet with pictures: bytes in a column, or the image structs of `datasets`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import Dropped, FilePart, Rejected
from curator_core.errors import InputError, hint
from curator_core.io.partitioning import FilePartitioning, Split
from curator_core.io.readers import FileReader, ParquetReading, Piece, ReadingStage
from curator_core.model.arrow import with_column

from curator_image.file_formats import detect_format, usual_extension
from curator_image.image_batch import EXTENSION, IMAGE, KEY, SOURCE, ImageBatch
from curator_image.readers.base import BATCH_BYTES, BATCH_ROWS


@dataclass
class ImageParquetReading(ReadingStage[pa.Table]):
    """Read Parquet files, or row groups of them, into batches of pictures."""

    output_type: ClassVar[Any] = ImageBatch
    batch = ImageBatch

    image_field: str = IMAGE
    key_field: str | None = None

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Dropped | Rejected]:
        plain = ParquetReading(self.fields, self.text_field, None, self.storage_options)
        row = 0
        for piece in plain.pieces(part):
            if not isinstance(piece, Piece):
                yield piece
                continue
            for table in _split_table(piece.content):
                where = f"{part.path} row {row}" if part.is_whole else f"{part} row {row}"
                shaped, missing = self._to_batch_table(table, part, row)
                row += table.num_rows
                if missing:
                    yield Rejected("the image is missing or empty", where, missing)
                if shaped.num_rows:
                    yield Piece(shaped, shaped.nbytes)

    def _to_batch_table(self, table: pa.Table, part: FilePart, first: int) -> tuple[pa.Table, int]:
        """Return the table with the columns of a batch, and the number of rows without picture."""
        images, paths = self._images(table, part)
        start = f"{part.start}:" if part.start else ""
        row_names = [f"{start}{row}" for row in range(first, first + table.num_rows)]
        keys = self._keys(table, part, row_names)
        if self.image_field != IMAGE:
            table = table.drop_columns([self.image_field])
        sources = pa.array([f"{part.path} row {row_name}" for row_name in row_names], pa.string())
        table = with_column(with_column(table, KEY, keys), IMAGE, images)
        if EXTENSION not in table.column_names:
            table = table.append_column(EXTENSION, _find_extensions(images, paths))
        if SOURCE not in table.column_names:
            table = table.append_column(SOURCE, sources)
        has_image = pc.greater(pc.fill_null(pc.binary_length(images), 0), 0)
        kept = table.filter(has_image)
        return kept, table.num_rows - kept.num_rows

    def _images(self, table: pa.Table, part: FilePart) -> tuple[Any, list[str | None]]:
        column = table.column(self.image_field).combine_chunks()
        paths: list[str | None] = [None] * table.num_rows
        if pa.types.is_struct(column.type):
            names = [inner.name for inner in column.type]
            if "path" in names:
                paths = pc.struct_field(column, "path").to_pylist()
            column = pc.struct_field(column, "bytes") if "bytes" in names else column
        if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
            raise InputError(
                f"column {self.image_field!r} of {part.path} is {column.type}, not bytes: set "
                "image_field to another column, or download URLs with image.downloader after "
                "text.parquet_reader"
            )
        return column.cast(pa.binary()), paths

    def _keys(self, table: pa.Table, part: FilePart, row_names: Sequence[str]) -> Any:
        name = self.key_field or (KEY if KEY in table.column_names else None)
        if name is not None:
            return table.column(name).cast(pa.string())
        stem = part.path.rpartition("/")[2].rpartition(".")[0]
        return pa.array(
            [f"{stem}-{row_name.replace(':', '-')}" for row_name in row_names], pa.string()
        )

    def fits(self, before: pa.Table, piece: pa.Table) -> bool:
        return False

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pieces[0]

    def sample(self, part: FilePart) -> tuple[str, ...]:
        found = ParquetReading(None, None, None, self.storage_options).sample(part)
        return tuple(dict.fromkeys((*found, KEY, IMAGE, EXTENSION, SOURCE)))

    def check(self) -> Iterator[str]:
        found = self._sample()
        if found is not None:
            for option in ("image_field", "key_field"):
                name = getattr(self, option)
                if name is not None and name not in found[1]:
                    yield f"{option} is {name!r}, but there is no such column{hint(name, found[1])}"
        yield from super().check()


def _find_extensions(images: Any, paths: Sequence[str | None]) -> Any:
    """Return the extensions of the original paths, or those of the detected formats."""
    found = []
    for data, path in zip(images.to_pylist(), paths, strict=True):
        stem, _, ending = (path or "").rpartition(".")
        sign = detect_format(data or b"")
        found.append(ending if stem and "/" not in ending else usual_extension(sign or "img"))
    return pa.array(found, pa.string())


def _split_table(table: pa.Table) -> Iterator[pa.Table]:
    """Slice a table into batches, limited by rows and bytes."""
    per_row = max(1, table.nbytes // max(1, table.num_rows))
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES // per_row))
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


@dataclass
class ImageParquetReader(FileReader):
    """Read Parquet rows with pictures: bytes, or the structs that `datasets` writes.

    The structs have bytes and path. Rows without a picture are quarantined. `fields` lists the
    columns to keep besides the picture.
    """

    output_type: ClassVar[Any] = ImageBatch

    image_field: str = field(default=IMAGE, kw_only=True)
    """Column with the image."""

    key_field: str | None = field(default=None, kw_only=True)
    """Column with the key. By default `key` if it exists, else file and row."""

    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    split: ClassVar[Split] = "row_groups"
    reading = ImageParquetReading

    def reading_stage(self, listing: FilePartitioning) -> ImageParquetReading:
        needed = (self.image_field, *filter(None, (self.key_field,)))
        fields = None if self.fields is None else list(dict.fromkeys((*needed, *self.fields)))
        return ImageParquetReading(
            fields, self.text_field, self.add_id, self.storage_options, listing,
            self.image_field, self.key_field,
        )  # fmt: skip
