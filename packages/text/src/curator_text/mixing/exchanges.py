"""Exchanges: move rows from many files through buckets on disk into new files, in random order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from curator_core import CompositeStage, PipelineError, Workflow
from curator_core.errors import NothingFoundError, hint
from curator_core.io.filesystems import StorageOptions, base_name, join
from curator_core.io.listing import Wanted, find_files
from curator_core.io.partitioning import parsed_size
from curator_core.io.readers.jsonl import JSONL_ENDINGS, JsonlReader
from curator_core.io.readers.parquet import ParquetReader
from curator_core.io.shuffle import ExchangeWriter
from curator_core.io.shuffle.partition import MOST_PARTITIONS
from curator_core.io.shuffle.reader import ExchangeListing
from curator_core.io.writers.base import FileWriter, Mode
from curator_core.io.writers.jsonl import JsonlWriter
from curator_core.io.writers.parquet import ParquetWriter
from curator_core.model.stages import AnyStage

from curator_text.mixing.gathering import BucketReading
from curator_text.mixing.keys import KEY
from curator_text.mixing.scattering import Scattering

Format: TypeAlias = Literal["jsonl", "parquet"]

PARQUET_ENDINGS = (".parquet", ".pq")
_LARGEST_BUCKET = 1 << 30
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", *PARQUET_ENDINGS)
_INFLATION = 4


@dataclass
class Exchange(Workflow):
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
            size = parsed_size(self.bucket_size) or 0
        except PipelineError as error:
            yield str(error).replace("blocksize", "bucket_size")
            return
        if size > _LARGEST_BUCKET:
            yield f"bucket_size is {self.bucket_size}, but must not exceed 1GiB"

    def bucket_count(self, num_bytes: int) -> int:
        """Return how many buckets are needed so that each fits in memory.

        The number is a power of 2, so that it seldom changes.
        """
        size = parsed_size(self.bucket_size) or 1
        number = 1 << max(0, -(-num_bytes // size) - 1).bit_length()
        if number > MOST_PARTITIONS:
            raise PipelineError(
                f"{self.name}: {num_bytes / 1e9:,.0f} GB in buckets of {self.bucket_size} are too "
                "many of them; set a larger bucket_size"
            )
        return number

    def scatter(
        self, paths: Sequence[str], scattering: Scattering, place: str, buckets: int
    ) -> list[AnyStage]:
        writer = ExchangeWriter(
            join(self.work_dir, "buckets", place),
            key=KEY,
            partitions=buckets,
            hashed=True,
            storage_options=self.storage_options,
        )
        return [self.reader(paths), scattering, writer]

    def gather(self, buckets: int) -> list[AnyStage]:
        folder = join(self.work_dir, "buckets")
        listing = ExchangeListing(folder, buckets, self.storage_options)
        return [listing, BucketReading(buckets, self.storage_options), self._writer()]

    def reader(self, paths: Sequence[str]) -> CompositeStage[Any, Any]:
        """Return the reader for the files that the paths match, chosen by file name endings."""
        options = {"text_field": self.text_field, "storage_options": self.storage_options}
        is_parquet = {_is_parquet(part.path) for part in self._files(paths)}
        if len(is_parquet) > 1:
            raise PipelineError(
                f"{self.name}: {', '.join(paths)} stand for Parquet files and for others; "
                "name only one kind"
            )
        kind = ParquetReader if True in is_parquet else JsonlReader
        return kind(list(paths), **options)  # type: ignore[arg-type]

    def size_of(self, paths: Sequence[str]) -> int:
        """Estimate the decompressed size of the files in bytes."""
        return sum(
            part.size * (_INFLATION if part.path.lower().endswith(_COMPRESSED) else 1)
            for part in self._files(paths)
        )

    def _files(self, paths: Sequence[str]) -> Any:
        wanted = Wanted((*JSONL_ENDINGS, *PARQUET_ENDINGS))
        try:
            return list(find_files(paths, wanted, self.storage_options))
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
