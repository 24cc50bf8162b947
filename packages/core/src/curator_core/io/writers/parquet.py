"""Parquet: one table per file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa

from curator_core.io.writers.base import FileWriter


@dataclass
class ParquetWriter(FileWriter):
    """Writes Parquet, compressed with zstd unless told otherwise."""

    compressions: ClassVar[tuple[str, ...]] = ("zstd", "snappy", "gzip", "lz4", "brotli")

    compression: str | None = "zstd"
    """How to compress: zstd, snappy, gzip, lz4 or brotli; null for not at all."""

    @property
    def ending(self) -> str:
        return ".parquet"

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        import pyarrow.parquet as pq

        kind = self.compression or "none"
        schema = tables[0].schema
        with pq.ParquetWriter(file, schema, compression=kind, write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table)

    def shared(self, tables: Sequence[pa.Table]) -> Iterable[list[pa.Table]]:
        """A Parquet file has one schema."""
        groups: list[list[pa.Table]] = []
        for table in tables:
            group = next((g for g in groups if g[0].schema.equals(table.schema)), None)
            if group is None:
                groups.append([table])
            else:
                group.append(table)
        return groups
