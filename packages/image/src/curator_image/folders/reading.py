"""Reader for image folders: each image file with its sidecars of the same name."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core.errors import InputError
from curator_core.io.filesystems import (
    StorageOptions,
    base_name,
    full_path,
    open_filesystem,
    open_input,
    parent_of,
)
from curator_core.io.partitioning import FilePartitioning, parsed_size
from curator_core.model.files import FilePart
from curator_core.model.tasks import Rejected

from curator_image.endings import IMAGE_ENDINGS
from curator_image.folders.listing import ImageFileListing
from curator_image.reading import Found, ImageReader, ImageReading
from curator_image.samples import Sample, rejected

_FILES_PER_TASK = 256
_CHUNK_BYTES = 1024 * 1024


@dataclass
class ImageFolderReading(ImageReading):
    """Read image files and their sidecars."""

    joins_files: ClassVar[bool] = True

    sidecars: tuple[str, ...] = ()
    max_bytes: int = 0
    tops: tuple[str, ...] = ()

    def samples(self, part: FilePart) -> Iterator[Found]:
        stem, _, extension = part.path.rpartition(".")
        data = _content(part.path, self.max_bytes, self.storage_options)
        if isinstance(data, str):
            yield Rejected(data, part.path)
            return
        beside = {}
        for ending in self.sidecars:
            found = self._beside(f"{stem}.{ending}")
            if isinstance(found, bytes):
                beside[ending] = found
        sample = Sample(self._key(stem), data, extension, part.path, beside)
        reason = self.demands.unmet(sample)
        yield rejected(sample, reason) if reason else sample

    def _beside(self, path: str) -> bytes | str | None:
        try:
            return _content(path, self.max_bytes, self.storage_options)
        except InputError:
            return None

    def _key(self, stem: str) -> str:
        """Return the path relative to the input folder, without extension."""
        for top in self.tops:
            if stem.startswith(f"{top}/"):
                return stem[len(top) + 1 :]
        return base_name(stem)


def _content(path: str, most: int, storage_options: StorageOptions | None) -> bytes | str:
    """Return the bytes of a file, or a message if there are too many."""
    with open_input(path, storage_options) as file:
        data = bytearray()
        while len(data) <= most and (chunk := file.read(_CHUNK_BYTES)):
            data += chunk
    return f"it has more than {most:,} bytes (max_file_bytes)" if len(data) > most else bytes(data)


@dataclass
class ImageFolderReader(ImageReader):
    """Read image files in a folder and its subfolders.

    The key is the path without extension. `sidecars` lists the extensions of files that belong to
    an image: with `[txt, json]`, `a.txt` belongs to `a.jpg`. Other files are counted as dropped, by
    extension.
    """

    sidecars: list[str] = field(default_factory=lambda: ["txt", "json"], kw_only=True)
    """Extensions of sidecar files."""

    max_file_bytes: int | str = field(default="256MiB", kw_only=True)
    """Maximum file size. Larger files are quarantined."""

    endings: ClassVar[tuple[str, ...]] = tuple(f".{ending}" for ending in IMAGE_ENDINGS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.files_per_partition is None and self.blocksize is None:
            self.files_per_partition = _FILES_PER_TASK

    def listing(self) -> ImageFileListing:
        return ImageFileListing(**self.listed, sidecars=tuple(self.sidecars))

    def reading(self, listing: FilePartitioning) -> ImageFolderReading:
        tops = tuple(_top(path, self.storage_options) for path in listing.paths)
        return ImageFolderReading(
            self.chosen, None, None, self.storage_options, listing, self.demands,
            tuple(self.json_fields or ()), tuple(self.sidecars),
            parsed_size(self.max_file_bytes) or 0, tops,
        )  # fmt: skip


def _top(path: str, storage_options: StorageOptions | None) -> str:
    """Return the folder that keys are relative to: the path before the first wildcard."""
    fs, plain = open_filesystem(path, storage_options)
    fixed = full_path(fs, plain)
    for mark in "*?[":
        fixed = fixed.partition(mark)[0]
    if fixed.endswith("/"):
        return fixed.rstrip("/")
    is_file = posixpath.splitext(fixed)[1].lower() in ImageFolderReader.endings
    return parent_of(fixed) if is_file or fixed != full_path(fs, plain) else fixed
