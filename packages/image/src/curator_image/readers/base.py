"""Image readers: the base classes shared by all sources."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
from curator_core import AnyStage, CompositeStage, Dropped, Empty, FilePart, Rejected
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions, paths_as_text
from curator_core.io.partitioning import FilePartitioning, Split
from curator_core.io.readers import Piece, ReadingStage

from curator_image.image_batch import OWN_COLUMNS, ImageBatch
from curator_image.samples import (
    WRONG_EXTENSION_CHOICES,
    ImageSample,
    SampleRequirements,
    WrongExtension,
    add_json_columns,
    build_sample_table,
    select_columns,
)

BATCH_ROWS = 256
"""Pictures per batch, which are decoded together and share cached pixels."""

BATCH_BYTES = 32 * 1024 * 1024

SampleResult: TypeAlias = ImageSample | Dropped | Rejected
Samples: TypeAlias = list[ImageSample]


@dataclass
class ImageReading(ReadingStage[Samples], ABC):
    """Read groups of files into batches of pictures."""

    output_type: ClassVar[Any] = ImageBatch
    batch = ImageBatch
    joins_files: ClassVar[bool] = False
    """Whether a batch may hold pictures of several files. Shard keys are only unique per shard."""

    requirements: SampleRequirements = field(default_factory=SampleRequirements)
    json_fields: Sequence[str] = ()

    @abstractmethod
    def samples(self, part: FilePart) -> Iterator[SampleResult]:
        """Yield the samples of a file, and rejections for the others."""

    def pieces(self, part: FilePart) -> Iterator[Piece[Samples] | Dropped | Rejected]:
        samples: list[ImageSample] = []
        size = 0
        for found in self.samples(part):
            if not isinstance(found, ImageSample):
                yield found
                continue
            samples.append(found)
            size += found.size
            if len(samples) == BATCH_ROWS or size >= BATCH_BYTES:
                yield Piece(samples, size)
                samples, size = [], 0
        if samples:
            yield Piece(samples, size)

    def fits(self, before: Samples, piece: Samples) -> bool:
        return self.joins_files

    def table(self, pieces: Sequence[Samples]) -> pa.Table:
        table = build_sample_table(list(chain.from_iterable(pieces)))
        if self.json_fields:
            table = add_json_columns(table, self.json_fields)
        return table if self.fields is None else select_columns(table, self.fields)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        for piece in self.pieces(part):
            if isinstance(piece, Piece):
                return tuple(self.table([piece.content]).column_names)
        return ()

    def check(self) -> Iterator[str]:
        if self.requirements.wrong_extension not in WRONG_EXTENSION_CHOICES:
            close = hint(str(self.requirements.wrong_extension), WRONG_EXTENSION_CHOICES)
            yield f"wrong_extension is {self.requirements.wrong_extension!r}{close}"
        else:
            yield from super().check()


@dataclass
class ImageReader(CompositeStage[Empty, ImageBatch]):
    """List files and read them; the base class of the readers for shards and folders."""

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one or a list. URLs such as s3://… work too."""

    fields: list[str] | None = None
    """Sidecars to keep (txt, json …) besides key and image. All of them by default."""

    json_fields: list[str] | None = None
    """Values in the .json of each image to turn into columns."""

    required: list[str] | None = None
    """Sidecars that every image must have, such as txt. Images without them are quarantined."""

    wrong_extension: WrongExtension = "quarantine"
    """What to do with an image whose extension is that of another format: quarantine or keep."""

    files_per_partition: int | None = None
    """Number of files per task."""

    blocksize: int | str | None = None
    """Approximate bytes per task (256MB): small files are combined, large ones are split."""

    limit: int | None = None
    """Maximum number of tasks, for trying things out."""

    include: str | list[str] | None = None
    """Only read files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """Skip files whose name, or path in the folder, matches one of these patterns."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Use ${secret:NAME} for keys."""

    endings: ClassVar[tuple[str, ...]] = ()
    split: ClassVar[Split] = "whole"

    def __post_init__(self) -> None:
        self.file_paths = paths_as_text(self.file_paths)

    @abstractmethod
    def reading(self, listing: FilePartitioning) -> ImageReading:
        """Return the stage that reads the listed files."""

    def listing(self) -> FilePartitioning:
        """Return the stage that lists the files."""
        return FilePartitioning(**self.listing_options)

    @property
    def listing_options(self) -> dict[str, Any]:
        """Options for FilePartitioning: which files to list, and how to group them into tasks."""
        return {
            "file_paths": self.file_paths,
            "files_per_partition": self.files_per_partition,
            "blocksize": self.blocksize,
            "limit": self.limit,
            "file_extensions": list(self.endings),
            "include": self.include,
            "exclude": self.exclude,
            "split": self.split,
            "storage_options": self.storage_options,
        }

    def decompose(self) -> Sequence[AnyStage]:
        listing = self.listing()
        reading = self.reading(listing)
        return [listing.with_(name=f"{self.name}_files"), reading.with_(name=self.name)]

    @property
    def selected_columns(self) -> list[str] | None:
        """The columns of the batches; None for all of them."""
        if self.fields is None:
            return None
        return list(dict.fromkeys((*OWN_COLUMNS, *self.fields, *(self.json_fields or ()))))

    @property
    def requirements(self) -> SampleRequirements:
        return SampleRequirements(
            tuple(self.required or ()), self.wrong_extension, bool(self.json_fields)
        )
