"""Shuffle: bring records of many files together by key, through files on disk.

A key has the same partition in every process, on every machine and in every later run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import blake2b
from typing import BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import CuratorError, InputError, PipelineError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.partitioning import parse_size
from curator_core.io.writers.base import FileWriter
from curator_core.model.arrow import rows_at, without_views
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.tasks import Empty

MAX_PARTITIONS = 4096

_HALF = pa.scalar(32, pa.uint64())


def partition_column(
    table: pa.Table, keys: Sequence[str], partitions: int, *, hashed: bool = False
) -> pa.Array:
    """Return the partition number of each row. With `hashed` the only key is already a hash."""
    if partitions == 1:
        return pa.repeat(pa.scalar(0, pa.uint64()), table.num_rows)
    plain = without_views(table.select(keys))
    columns = [_as_one_array(column) for column in plain.columns]
    hashes = _leading_bytes(keys[0], columns[0]) if hashed else _combine_hashes(columns)
    upper = pc.shift_right(hashes, _HALF)
    return pc.shift_right(pc.multiply(upper, pa.scalar(partitions, pa.uint64())), _HALF)


def _combine_hashes(columns: Sequence[pa.Array]) -> pa.Array:
    """Combine several hashes. Each gets another factor, so that equal ones do not cancel out."""
    turned = (
        pc.multiply(_hashes(column), pa.scalar(2 * place + 1, pa.uint64()))
        for place, column in enumerate(columns)
    )
    return reduce(pc.bit_wise_xor, turned)


def _hashes(column: pa.Array) -> pa.Array:
    """Return 64-bit hashes of the values; repeated values are hashed once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary
    raws = values if _is_binary(values.type) else pc.cast(values, pa.string())
    numbers = [_hash_value(value) for value in raws.to_pylist()]
    return pa.array(numbers, pa.uint64()).take(column.indices).fill_null(0)


def _hash_value(value: str | bytes | None) -> int:
    if value is None:
        return 0
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")


def _leading_bytes(name: str, column: pa.Array) -> pa.Array:
    """Return the first 8 bytes of each value; 0 for null."""
    kind = column.type
    if not pa.types.is_fixed_size_binary(kind) or kind.byte_width % 8:
        raise InputError(
            f"hashed says that {name!r} holds hashes, but it is {kind}; "
            "give binary of a fixed size such as 16 bytes, or leave hashed out"
        )
    words = kind.byte_width // 8
    start, rows = column.offset * words, len(column)
    numbers = pa.Array.from_buffers(
        pa.uint64(), rows * words, [None, column.buffers()[1]], offset=start
    )
    firsts = numbers if words == 1 else numbers.take(_every_nth(words, rows))
    return pc.if_else(column.is_valid(), firsts, pa.scalar(0, pa.uint64()))


def _every_nth(step: int, count: int) -> pa.Array:
    return pa.array(range(0, count * step, step), pa.int64())


def _is_binary(kind: pa.DataType) -> bool:
    checks = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(check(kind) for check in checks)


def _as_one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def split_by_partition(table: pa.Table, places: pa.Array, partitions: int) -> list[pa.Table]:
    """Return the rows of each partition, in their original order."""
    if partitions == 1:
        return [table]
    ordered = rows_at(table, pc.sort_indices(places))  # a stable sort
    counted = pc.value_counts(places)
    sizes = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    tables, start = [], 0
    for place in range(partitions):
        rows = sizes.get(place, 0)
        tables.append(ordered.slice(start, rows))
        start += rows
    return tables


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
        if not 1 <= self.partitions <= MAX_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MAX_PARTITIONS}"
        if not self.keys or not all(self.keys):
            yield "key is empty; name the column by which records are grouped"
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
            for rows in split_by_partition(table, places, self.partitions):
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))


def _with_dictionary(schema: pa.Schema) -> bool | list[str]:
    """Return the columns to dictionary-encode.

    Hashes and numbers rarely repeat: encoding them takes longer than everything else and makes
    files larger.
    """
    if any(pa.types.is_nested(column.type) for column in schema):
        return True  # nested columns have other path names
    return [column.name for column in schema if not _rarely_repeats(column.type)]


def _rarely_repeats(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind))


@dataclass
class ExchangeReader(CompositeStage[Empty, DocumentBatch]):
    """Read the partitions that an `ExchangeWriter` wrote, one task each.

    All records of a key are in one partition. Each partition is a source, so that a run resumes by
    partition.
    """

    path: str
    """Folder that the writer wrote to."""

    partitions: int = 16
    """Number of partitions that the writer used."""

    fields: list[str] | None = None
    """Columns to read; all columns if not set."""

    batch_size_bytes: int | str | None = None
    """Approximate size of a batch (64MB). The records of a key may then be in several batches of
    its partition. One batch per partition if not set.
    """

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        listing = ExchangeListing(self.path, self.partitions, self.storage_options)
        reading = ExchangeReading(
            self.partitions, self.fields, self.batch_size_bytes, self.storage_options
        )
        return [listing.with_(name=f"{self.name}_files"), reading.with_(name=self.name)]


@dataclass
class ExchangeListing(ProcessingStage[Empty, FileGroup]):
    """List partitions: the same row group of every file."""

    path: str
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def check(self) -> Iterator[str]:
        if not 1 <= self.partitions <= MAX_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MAX_PARTITIONS}"

    def process(self, task: Empty) -> Iterator[FileGroup]:
        files = list(find_files([self.path], FileFilter((".parquet",)), self.storage_options))
        for number in range(self.partitions):
            yield FileGroup([partition_of(file, number, self.partitions) for file in files])


def partition_of(file: FilePart, number: int, partitions: int) -> FilePart:
    """Return one partition of a file of an exchange."""
    return FilePart(file.path, file.size // partitions, file.version, number, number + 1)


@dataclass
class ExchangeReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read one partition, in one batch or several."""

    fans_out = True

    partitions: int
    fields: list[str] | None = None
    batch_size_bytes: int | str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def check(self) -> Iterator[str]:
        try:
            parse_size(self.batch_size_bytes)
        except PipelineError as error:
            yield str(error).replace("blocksize", "batch_size_bytes")

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        limit = parse_size(self.batch_size_bytes)
        held: list[pa.Table] = []
        size = 0
        for part in task.data:
            for table in self._pieces(part, limit):
                if held and limit is not None and size + table.nbytes > limit:
                    yield DocumentBatch(concat_tables(held))
                    held, size = [], 0
                held.append(table)
                size += table.nbytes
        if held:
            yield DocumentBatch(concat_tables(held))

    def _pieces(self, part: FilePart, limit: int | None) -> Iterator[pa.Table]:
        table = read_partition(part, self.partitions, self.fields, self.storage_options)
        rows = table.num_rows
        if limit is not None and rows:
            rows = max(1, limit * rows // max(1, table.nbytes))
        for start in range(0, table.num_rows, max(1, rows)):
            yield table.slice(start, rows)


def read_partition(
    part: FilePart,
    partitions: int,
    fields: Sequence[str] | None = None,
    storage_options: StorageOptions | None = None,
) -> pa.Table:
    """Return the rows of one partition in a file of an exchange."""
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        try:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            if file.num_row_groups != partitions:
                raise InputError(
                    f"{part.path} was written for {file.num_row_groups} partitions, not for "
                    f"{partitions}; give reader and writer the same number"
                )
            return file.read_row_group(part.start, columns=fields and list(fields))
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"cannot read {part.path}: damaged Parquet: {str(error).splitlines()[0]}; "
                "remove it and write the exchange again"
            ) from None


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables of one exchange; columns may be missing in some files."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise CuratorError(
            f"the files of an exchange have different schemas: {str(error).splitlines()[0]}; "
            "give a column the same type in all batches"
        ) from None
