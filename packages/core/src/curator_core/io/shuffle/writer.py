"""Shuffle writer: one Parquet file per batch, one row group per partition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa

from curator_core.io.shuffle.partition import MOST_PARTITIONS, in_partitions, partition_column
from curator_core.io.writers.base import FileWriter


@dataclass
class ExchangeWriter(FileWriter):
    """Write records partitioned by the hash of a key, for `ExchangeReader`.

    The reader returns all records of a key together. Each batch is one Parquet file in which row
    group N holds the rows of partition N, so the number of files does not depend on the number of
    partitions.
    """

    compressions: ClassVar[tuple[str, ...]] = ("zstd", "snappy", "gzip", "lz4", "brotli")

    compression: str | None = "lz4"
    """Compression: lz4, zstd, snappy, gzip or brotli; null for none."""

    key: str | list[str] = "key"
    """Column or columns to group rows by. Rows with a null key are grouped, too."""

    partitions: int = 16
    """Number of partitions. Each must fit in memory."""

    hashed: bool = False
    """Whether the key is already a hash (binary of 8 or 16 bytes), which is faster."""

    @property
    def ending(self) -> str:
        return ".parquet"

    @property
    def keys(self) -> list[str]:
        return [self.key] if isinstance(self.key, str) else list(self.key)

    def inputs(self) -> Sequence[str]:
        return list(dict.fromkeys((*super().inputs(), *self.keys)))

    def check(self) -> Iterator[str]:
        yield from super().check()
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"
        if not self.keys or not all(self.keys):
            yield "key is empty; name the column by whose values records come together"
        if self.partition_by is not None:
            yield "partition_by makes folders, which an exchange does not read; leave it out"
        if self.hashed and len(self.keys) > 1:
            yield "hashed is for one key, but there are several; leave it out"
        missing = [] if self.fields is None else [k for k in self.keys if k not in self.fields]
        if missing:
            yield f"fields leaves out the key {missing[0]!r}; add it"

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        import pyarrow.parquet as pq

        [table] = tables
        places = partition_column(table, self.keys, self.partitions, hashed=self.hashed)
        kind = self.compression or "none"
        with pq.ParquetWriter(
            file,
            table.schema,
            compression=kind,
            write_page_checksum=True,
            use_dictionary=_with_dictionary(table.schema),
        ) as writer:
            for rows in in_partitions(table, places, self.partitions):
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))


def _with_dictionary(schema: pa.Schema) -> bool | list[str]:
    """Return the columns to dictionary-encode.

    Hashes and numbers rarely repeat: encoding them takes longer than everything else and makes
    files larger.
    """
    if any(pa.types.is_nested(column.type) for column in schema):
        return True  # nested columns have other path names
    return [column.name for column in schema if not _is_of_one_kind(column.type)]


def _is_of_one_kind(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind))
