"""Random order: move rows from many files through buckets on disk into new files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import pyarrow as pa
from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    Dropped,
    FileGroup,
    InputError,
    JsonlWriter,
    ParquetWriter,
    PipelineError,
    ProcessingStage,
    Workflow,
)
from curator_core.errors import NothingFoundError, hint
from curator_core.io.filesystems import StorageOptions, base_name, join
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.partitioning import parse_size
from curator_core.io.readers import JSONL_ENDINGS, JsonlReader, ParquetReader
from curator_core.io.shuffle import (
    MAX_PARTITIONS,
    ExchangeListing,
    ExchangeWriter,
    concat_tables,
    read_partition,
)
from curator_core.io.writers import FileWriter, Mode
from curator_core.model.arrow import rows_at, with_column

from curator_text.mixing.random_keys import KEY, key_column, row_keys, sorted_by_key

_SELECTION_COPY = -1


@dataclass
class Scattering(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Assigns a key to each row. With `copies`, rows are also repeated or left out.

    Each copy is emitted as a separate batch, so that many copies need no more memory than one.
    """

    seed: int
    text_field: str = "text"
    copies: Mapping[str, tuple[int, int]] | None = field(default=None, repr=False)
    """By batch, the number of full copies, and the number of rows to take once more. If unset, each
    row is taken once."""
    shares: str = ""
    """A hash of `copies`, so that other copies make a different pipeline."""

    source: str | None = None
    source_field: str | None = None
    """Output column for the source of a row."""

    def outputs(self) -> Sequence[str]:
        return (KEY,) if self.source_field is None else (KEY, self.source_field)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        full_copies, extra = self._copies_of(task)
        for copy in range(full_copies):
            yield self._with_keys(task, copy, None)
        if extra:
            yield self._with_keys(task, full_copies, self._choose_rows(task, extra))
        if not full_copies and extra < task.num_items:
            yield Dropped("beyond the share of its source", task.num_items - extra)

    def _copies_of(self, task: DocumentBatch) -> tuple[int, int]:
        if self.copies is None:
            return 1, 0
        try:
            return self.copies[task.task_id]
        except KeyError:
            raise InputError(
                "this batch was not counted, so the input changed after counting; "
                "run the same command again"
            ) from None

    def _choose_rows(self, task: DocumentBatch, number: int) -> list[int]:
        """Return the rows with the smallest keys.

        These keys are independent of the output order.
        """
        keys = list(row_keys(task, self.text_field, self.seed, _SELECTION_COPY))
        return sorted(sorted(range(len(keys)), key=keys.__getitem__)[:number])

    def _with_keys(
        self, task: DocumentBatch, copy: int, rows: Sequence[int] | None
    ) -> DocumentBatch:
        keys = key_column(row_keys(task, self.text_field, self.seed, copy))
        table = with_column(task.data, KEY, keys)
        if self.source_field is not None:
            names = pa.array([self.source] * table.num_rows, pa.string())
            table = with_column(table, self.source_field, names)
        return task.with_data(table if rows is None else rows_at(table, rows))


_BATCH_BYTES = 32 * 1024 * 1024


@dataclass
class BucketReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Reads a whole bucket, sorts it, and emits it in batches."""

    buckets: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        tables = [
            read_partition(part, self.buckets, storage_options=self.storage_options)
            for part in task.data
        ]
        table = sorted_by_key(concat_tables(tables))
        del tables
        rows = max(1, _BATCH_BYTES * table.num_rows // max(1, table.nbytes))
        for start in range(0, table.num_rows, rows):
            yield DocumentBatch(table.slice(start, rows))


Format: TypeAlias = Literal["jsonl", "parquet"]

PARQUET_ENDINGS = (".parquet", ".pq")
_MAX_BUCKET_BYTES = 1 << 30
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", *PARQUET_ENDINGS)
_COMPRESSION_RATIO = 4


@dataclass
class RandomOrderWorkflow(Workflow):
    """Base class of shuffling and blending: where rows go, and how they get there.

    The work directory holds an intermediate copy of the rows, as large as the result. It can be
    deleted once the result is complete, and is not created again.
    """

    output_path: str = field(kw_only=True)
    """Folder for the result."""

    seed: int = field(default=0, kw_only=True)
    """The same data and the same seed give the same rows in the same order."""

    output_format: Format = field(default="jsonl", kw_only=True)
    """Format of the files to write."""

    compression: str | None = field(default=None, kw_only=True)
    """Compression of the files, as the writer of the format accepts it."""

    mode: Mode = field(default="error", kw_only=True)
    """What to do if the output folder holds other data: refuse, append to it, or overwrite."""

    text_field: str = field(default="text", kw_only=True)
    """The text column. The random order depends on its content and on each row's position."""

    bucket_size: int | str = field(default="256MB", kw_only=True)
    """Approximate amount of data that each worker holds in memory at once."""

    work_path: str | None = field(default=None, kw_only=True)
    """Folder for intermediate data; by default a hidden folder inside the output folder."""

    storage: StorageOptions = field(default_factory=dict, kw_only=True, repr=False)
    """fsspec options for an object store."""

    work_option: ClassVar[str] = "work_path"

    @property
    def work_dir(self) -> str:
        return self.work_path or join(str(self.output_path), ".curator", self.name)

    @property
    def storage_options(self) -> dict[str, Any]:
        return dict(self.storage)

    def check(self) -> Iterable[str]:
        """Yield the problems with the options."""
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        if self.output_format not in get_args(Format):
            known = hint(self.output_format, get_args(Format))
            yield f"output_format is {self.output_format!r}{known}"
        try:
            size = parse_size(self.bucket_size) or 0
        except PipelineError as error:
            yield str(error).replace("blocksize", "bucket_size")
            return
        if size > _MAX_BUCKET_BYTES:
            yield f"bucket_size is {self.bucket_size}, but must not exceed 1GiB"

    def bucket_count(self, num_bytes: int) -> int:
        """Return how many buckets are needed so that each fits in memory.

        The number is a power of 2, so that it seldom changes.
        """
        size = parse_size(self.bucket_size) or 1
        number = 1 << max(0, -(-num_bytes // size) - 1).bit_length()
        if number > MAX_PARTITIONS:
            raise PipelineError(
                f"{self.name}: {num_bytes / 1e9:,.0f} GB need too many buckets of "
                f"{self.bucket_size}; set a larger bucket_size"
            )
        return number

    def scatter_stages(
        self, paths: Sequence[str], scattering: Scattering, name: str, buckets: int
    ) -> list[AnyStage]:
        writer = ExchangeWriter(
            join(self.work_dir, "buckets", name),
            key=KEY,
            partitions=buckets,
            hashed=True,
            storage_options=self.storage_options,
        )
        return [self.reader(paths), scattering, writer]

    def gather_stages(self, buckets: int) -> list[AnyStage]:
        folder = join(self.work_dir, "buckets")
        listing = ExchangeListing(folder, buckets, self.storage_options)
        return [listing, BucketReading(buckets, self.storage_options), self._writer()]

    def reader(self, paths: Sequence[str]) -> CompositeStage[Any, Any]:
        """Return the reader for the files that the paths match, chosen by file name endings."""
        options = {"text_field": self.text_field, "storage_options": self.storage_options}
        is_parquet = {_is_parquet(part.path) for part in self._files(paths)}
        if len(is_parquet) > 1:
            raise PipelineError(
                f"{self.name}: {', '.join(paths)} match Parquet files and others; "
                "name only one kind"
            )
        kind = ParquetReader if True in is_parquet else JsonlReader
        return kind(list(paths), **options)  # type: ignore[arg-type]

    def size_of(self, paths: Sequence[str]) -> int:
        """Estimate the decompressed size of the files in bytes."""
        return sum(
            part.size * (_COMPRESSION_RATIO if part.path.lower().endswith(_COMPRESSED) else 1)
            for part in self._files(paths)
        )

    def _files(self, paths: Sequence[str]) -> Any:
        data_files = FileFilter((*JSONL_ENDINGS, *PARQUET_ENDINGS))
        try:
            return list(find_files(paths, data_files, self.storage_options))
        except NothingFoundError:  # the reader reports it, unless an empty input is allowed
            return []

    def _writer(self) -> FileWriter:
        kind = ParquetWriter if self.output_format == "parquet" else JsonlWriter
        writer: FileWriter = kind(
            str(self.output_path), self.mode, storage_options=self.storage_options
        )
        if self.compression is not None:
            writer.compression = self.compression
        return writer


def _is_parquet(path: str) -> bool:
    return base_name(path).lower().endswith(PARQUET_ENDINGS)
