"""JSON Lines: a record a line, the columns in the order of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, cast

import pyarrow as pa

from curator_core.compression import COMPRESSIONS, Compression, compressing
from curator_core.writing.encoding import json_lines
from curator_core.writing.stages import FileWriter


@dataclass
class JsonlWriter(FileWriter):
    """Writes JSON Lines, plain or compressed (gz, zst, bz2, xz)."""

    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS

    @property
    def ending(self) -> str:
        return f".jsonl.{self.compression}" if self.compression else ".jsonl"

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        with compressing(file, cast(Compression | None, self.compression)) as stream:
            for table in tables:
                for lines in json_lines(table):
                    stream.write(lines)
