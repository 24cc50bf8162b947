"""Reading: what readers of pictures share, whatever they read from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions, as_text
from curator_core.io.partitioning import FilePartitioning, Split
from curator_core.io.readers.base import Piece, ReadingStage
from curator_core.model.files import FilePart
from curator_core.model.stages import AnyStage, CompositeStage
from curator_core.model.tasks import Dropped, Empty, Rejected

from curator_image.batches import OWN_COLUMNS, ImageBatch
from curator_image.samples import (
    WRONG_EXTENSION,
    Demands,
    Sample,
    WrongExtension,
    chosen_columns,
    sample_table,
    with_json_fields,
)

BATCH_ROWS = 256
"""As many pictures are decoded and measured together, and their pixels kept for what follows."""

BATCH_BYTES = 32 * 1024 * 1024

Found: TypeAlias = Sample | Dropped | Rejected
Samples: TypeAlias = list[Sample]


@dataclass
class ImageReading(ReadingStage[Samples], ABC):
    """Reads groups of files into batches of pictures."""

    gives: ClassVar[Any] = ImageBatch
    batch = ImageBatch
    joins_files: ClassVar[bool] = False
    """Whether pictures of several files share a batch: keys say little where each is a shard."""

    demands: Demands = field(default_factory=Demands)
    json_fields: Sequence[str] = ()

    @abstractmethod
    def samples(self, part: FilePart) -> Iterator[Found]:
        """The samples of a file, and what is wrong with the others."""

    def pieces(self, part: FilePart) -> Iterator[Piece[Samples] | Dropped | Rejected]:
        held: list[Sample] = []
        size = 0
        for found in self.samples(part):
            if not isinstance(found, Sample):
                yield found
                continue
            held.append(found)
            size += found.size
            if len(held) == BATCH_ROWS or size >= BATCH_BYTES:
                yield Piece(held, size)
                held, size = [], 0
        if held:
            yield Piece(held, size)

    def fits(self, before: Samples, piece: Samples) -> bool:
        return self.joins_files

    def table(self, pieces: Sequence[Samples]) -> pa.Table:
        table = sample_table(list(chain.from_iterable(pieces)))
        if self.json_fields:
            table = with_json_fields(table, self.json_fields)
        return table if self.fields is None else chosen_columns(table, self.fields)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        for piece in self.pieces(part):
            if isinstance(piece, Piece):
                return tuple(self.table([piece.content]).column_names)
        return ()

    def check(self) -> Iterator[str]:
        if self.demands.wrong_extension not in WRONG_EXTENSION:
            close = hint(str(self.demands.wrong_extension), WRONG_EXTENSION)
            yield f"wrong_extension is {self.demands.wrong_extension!r}{close}"
        else:
            yield from super().check()


@dataclass
class ImageReader(CompositeStage[Empty, ImageBatch]):
    """Lists files and reads them; what readers of shards and of folders share."""

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…"""

    fields: list[str] | None = None
    """The only sidecars to keep (txt, json …), beside key and image; all of them unless given."""

    json_fields: list[str] | None = None
    """Values out of the .json beside each image that become columns of their own."""

    required: list[str] | None = None
    """Sidecars that every image must have, such as txt; one that lacks any is set aside."""

    wrong_extension: WrongExtension = "quarantine"
    """An image that is named like another format: set it aside (quarantine), or keep it."""

    files_per_partition: int | None = None
    """So many files make one task."""

    blocksize: int | str | None = None
    """About so many bytes make one task (256MB): small files together, large ones divided."""

    limit: int | None = None
    """No more than so many tasks, to try something out."""

    include: str | list[str] | None = None
    """Only files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """No files whose name, or path in the folder, matches one of these patterns."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    endings: ClassVar[tuple[str, ...]] = ()
    split: ClassVar[Split] = "whole"

    def __post_init__(self) -> None:
        self.file_paths = as_text(self.file_paths)

    @abstractmethod
    def reading(self, listing: FilePartitioning) -> ImageReading:
        """What reads the files that are listed."""

    def listing(self) -> FilePartitioning:
        """What lists the files."""
        return FilePartitioning(**self.listed)

    @property
    def listed(self) -> dict[str, Any]:
        """Which files to list, and how they make tasks: the options of FilePartitioning."""
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
    def chosen(self) -> list[str] | None:
        """The columns of its batches; None for all that there are."""
        if self.fields is None:
            return None
        return list(dict.fromkeys((*OWN_COLUMNS, *self.fields, *(self.json_fields or ()))))

    @property
    def demands(self) -> Demands:
        return Demands(tuple(self.required or ()), self.wrong_extension, bool(self.json_fields))
