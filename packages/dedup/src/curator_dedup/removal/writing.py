"""Writing the documents that are kept, in the format that each batch sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, cast

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, JsonlWriter, ParquetWriter
from curator_core.io.compression import COMPRESSIONS, Compression, compressing
from curator_core.io.writers.base import FileWriter

from curator_dedup.removal.removing import FORMAT, LINE, memoryview_of


@dataclass
class LineWriter(JsonlWriter):
    """Write lines as they were read."""

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        with compressing(file, cast(Compression | None, self.compression)) as stream:
            for table in tables:
                for lines in table.column(LINE).chunks:
                    stream.write(memoryview_of(lines))


@dataclass
class DocumentWriter(FileWriter):
    """Write both JSON Lines and Parquet. `compression` applies to JSON Lines."""

    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS

    @property
    def ending(self) -> str:
        return self._lines.ending

    def process(self, task: DocumentBatch) -> FileGroup:
        writer = self._writer_of(task)
        writer.setup(self._worker)
        return writer.process(task)

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        self._lines.write(tables, file)

    def _writer_of(self, task: DocumentBatch) -> FileWriter:
        if LINE in task.columns():
            return self._lines
        options = {"mode": self.mode, "storage_options": self.storage_options}
        if task.metadata[FORMAT] == "parquet":
            return ParquetWriter(self.path, **options)  # type: ignore[arg-type]
        return JsonlWriter(self.path, compression=self.compression, **options)  # type: ignore[arg-type]

    @property
    def _lines(self) -> LineWriter:
        return LineWriter(
            self.path,
            self.mode,
            self.compression,
            storage_options=self.storage_options,
        )
