"""Parquet writer: one table per file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa

from curator_core.io.writers.base import FileWriter


@dataclass
class ParquetWriter(FileWriter):
    """Write Parquet, compressed with zstd by default."""

    compressions: ClassVar[tuple[str, ...]] = ("zstd", "snappy", "gzip", "lz4", "brotli")

    compression: str | None = "zstd"
    """Compression: zstd, snappy, gzip, lz4 or brotli; null for none."""

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
        """Group tables by schema; a Parquet file has one schema."""
        groups: list[list[pa.Table]] = []
        for table in tables:
            group = next((g for g in groups if g[0].schema.equals(table.schema)), None)
            if group is None:
                groups.append([table])
            else:
                group.append(table)
        return groups
