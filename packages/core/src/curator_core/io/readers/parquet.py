"""Parquet reader: one row group at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import InputError, hint
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split
from curator_core.io.readers.base import BATCH_BYTES, FileReader, Piece, ReadingStage
from curator_core.model.files import FilePart
from curator_core.model.tasks import Rejected

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS_AT_ONCE = 16 * 1024


@dataclass
class ParquetReading(ReadingStage[pa.Table]):
    """Read Parquet files, or ranges of their row groups."""

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Rejected]:
        with self._open_parquet(part) as file:
            self._refuse_missing(part, file)
            last = file.num_row_groups if part.end is None else part.end
            for group in range(part.start, min(last, file.num_row_groups)):
                yield from self._row_group(part, file, group)

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces)

    def fits(self, before: pa.Table, piece: pa.Table) -> bool:
        return bool(before.schema.equals(piece.schema))

    def sample(self, part: FilePart) -> tuple[str, ...]:
        with self._open_parquet(part) as file:
            return tuple(file.schema_arrow.names)

    @contextmanager
    def _open_parquet(self, part: FilePart) -> "Iterator[pq.ParquetFile]":
        import pyarrow.parquet as pq

        with open_input(part.path, self.storage_options) as source:
            try:
                file = pq.ParquetFile(source, page_checksum_verification=True)
            except (pa.ArrowException, OSError) as error:
                reason = _damage(error)
                raise InputError(f"cannot read {part.path}: {reason}") from None
            yield file

    def _refuse_missing(self, part: FilePart, file: "pq.ParquetFile") -> None:
        names = file.schema_arrow.names
        for name in self.fields or ():
            if name not in names:
                raise InputError(f"{part.path} has no column {name!r}{hint(name, names)}")

    def _row_group(
        self, part: FilePart, file: "pq.ParquetFile", group: int
    ) -> Iterator[Piece[pa.Table] | Rejected]:
        facts = file.metadata.row_group(group)
        bytes_per_row = max(1, facts.total_byte_size // max(1, facts.num_rows))
        rows = max(1, min(_ROWS_AT_ONCE, BATCH_BYTES // bytes_per_row))
        given = 0
        try:
            for batch in file.iter_batches(rows, row_groups=[group], columns=self.fields):
                table = self._select_fields(part, pa.Table.from_batches([batch]))
                yield Piece(table, table.nbytes)
                given += table.num_rows
        except (pa.ArrowException, OSError) as error:
            reason, where = _damage(error), f"{part.path} row group {group}"
            yield Rejected(reason, where, items=max(1, facts.num_rows - given))

    def _select_fields(self, part: FilePart, table: pa.Table) -> pa.Table:
        if self.fields is not None:
            table = table.select(self.fields)
        name = self.text_field
        if name not in table.column_names or table.schema.field(name).type == pa.string():
            return table
        try:
            text = pc.cast(table.column(name), pa.string())
        except pa.ArrowException as error:
            kind = table.schema.field(name).type
            raise InputError(
                f"column {name!r} of {part.path} is {kind}, which cannot become text "
                f"({str(error).splitlines()[0]}); name another text_field, or None"
            ) from None
        return table.set_column(table.column_names.index(name), name, text)


@dataclass
class ParquetReader(FileReader):
    """Read Parquet. With `fields`, only these columns are read."""

    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    split: ClassVar[Split] = "row_groups"
    reading = ParquetReading


def _damage(error: Exception) -> str:
    """Describe damaged content. Errors of the disk or the network are raised again."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    lines = str(error).strip().splitlines()
    return f"damaged Parquet: {lines[0] if lines else type(error).__name__}"
