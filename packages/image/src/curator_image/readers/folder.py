"""Reader for image folders: each image file with its sidecars of the same name."""

import logging
import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core import Dropped, Empty, FileGroup, FilePart, Rejected
from curator_core.errors import InputError
from curator_core.io.filesystems import (
    StorageOptions,
    base_name,
    full_path,
    open_filesystem,
    open_input,
    parent_of,
)
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.partitioning import FilePartitioning, parse_size

from curator_image.file_formats import IMAGE_EXTENSIONS
from curator_image.readers.base import ImageReader, ImageReading, SampleResult
from curator_image.samples import ImageSample, reject_sample

_LOG = logging.getLogger("curator_core.image")  # child of the logger shown in the terminal


@dataclass(frozen=True)
class _CountingFilter(FileFilter):
    """Count the files that are skipped only because of their extension."""

    sidecars: tuple[str, ...] = ()
    others: Counter[str] = field(default_factory=Counter)

    def accepts(self, relative: str, *, any_ending: bool = False) -> bool:
        if super().accepts(relative, any_ending=any_ending):
            return True
        if super().accepts(relative, any_ending=True) and not relative.lower().endswith(
            self.sidecars
        ):
            name = relative.rpartition("/")[2].lower()
            stem, dot, ending = name.rpartition(".")
            self.others[f".{ending}" if stem and dot else "no extension"] += 1
        return False


@dataclass
class ImageFileListing(FilePartitioning):
    """List image files. Other files, except sidecars, are counted as dropped."""

    sidecars: tuple[str, ...] = field(default=(), kw_only=True)
    """Extensions of sidecar files."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._others: Counter[str] = Counter()

    def process(self, task: Empty) -> Iterator[FileGroup | Dropped]:  # type: ignore[override]
        self._others.clear()
        yield from super().process(task)
        if self._others:
            _LOG.warning("%s", _skipped_summary(self._others))
        for ending, count in sorted(self._others.items()):
            yield Dropped(f"not an image file ({ending})", count)

    def files(self) -> Iterator[FilePart]:
        listed = self.file_filter
        sidecars = tuple(f".{ending.lower()}" for ending in self.sidecars)
        counting = _CountingFilter(
            listed.extensions, listed.include, listed.exclude, sidecars, self._others
        )
        return find_files(self.paths, counting, self.storage_options)


def _skipped_summary(others: Counter[str]) -> str:
    kinds = ", ".join(f"{count:,} {ending}" for ending, count in others.most_common(8))
    more = ", …" if len(others) > 8 else ""
    total = others.total()
    return f"{total:,} file{'s' * (total != 1)} of other types skipped: {kinds}{more}"


_FILES_PER_TASK = 256
_CHUNK_BYTES = 1024 * 1024


@dataclass
class ImageFolderReading(ImageReading):
    """Read image files and their sidecars."""

    joins_files: ClassVar[bool] = True

    sidecars: tuple[str, ...] = ()
    max_bytes: int = 0
    roots: tuple[str, ...] = ()

    def samples(self, part: FilePart) -> Iterator[SampleResult]:
        stem, _, extension = part.path.rpartition(".")
        data = _read_limited(part.path, self.max_bytes, self.storage_options)
        if isinstance(data, str):
            yield Rejected(data, part.path)
            return
        sidecars = {}
        for ending in self.sidecars:
            found = self._read_sidecar(f"{stem}.{ending}")
            if isinstance(found, bytes):
                sidecars[ending] = found
        sample = ImageSample(self._key(stem), data, extension, part.path, sidecars)
        reason = self.requirements.problem(sample)
        yield reject_sample(sample, reason) if reason else sample

    def _read_sidecar(self, path: str) -> bytes | str | None:
        try:
            return _read_limited(path, self.max_bytes, self.storage_options)
        except InputError:
            return None

    def _key(self, stem: str) -> str:
        """Return the path relative to the input folder, without extension."""
        for root in self.roots:
            if stem.startswith(f"{root}/"):
                return stem[len(root) + 1 :]
        return base_name(stem)


def _read_limited(path: str, max_bytes: int, storage_options: StorageOptions | None) -> bytes | str:
    """Return the bytes of a file, or a message if there are too many."""
    with open_input(path, storage_options) as file:
        data = bytearray()
        while len(data) <= max_bytes and (chunk := file.read(_CHUNK_BYTES)):
            data += chunk
    if len(data) > max_bytes:
        return f"it has more than {max_bytes:,} bytes (max_file_bytes)"
    return bytes(data)


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

    endings: ClassVar[tuple[str, ...]] = tuple(f".{ending}" for ending in IMAGE_EXTENSIONS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.files_per_partition is None and self.blocksize is None:
            self.files_per_partition = _FILES_PER_TASK

    def listing(self) -> ImageFileListing:
        return ImageFileListing(**self.listing_options, sidecars=tuple(self.sidecars))

    def reading(self, listing: FilePartitioning) -> ImageFolderReading:
        roots = tuple(_key_root(path, self.storage_options) for path in listing.paths)
        return ImageFolderReading(
            self.selected_columns, None, None, self.storage_options, listing, self.requirements,
            tuple(self.json_fields or ()), tuple(self.sidecars),
            parse_size(self.max_file_bytes) or 0, roots,
        )  # fmt: skip


def _key_root(path: str, storage_options: StorageOptions | None) -> str:
    """Return the folder that keys are relative to: the path before the first wildcard."""
    fs, plain = open_filesystem(path, storage_options)
    fixed = full_path(fs, plain)
    for wildcard in "*?[":
        fixed = fixed.partition(wildcard)[0]
    if fixed.endswith("/"):
        return fixed.rstrip("/")
    is_file = posixpath.splitext(fixed)[1].lower() in ImageFolderReader.endings
    return parent_of(fixed) if is_file or fixed != full_path(fs, plain) else fixed
