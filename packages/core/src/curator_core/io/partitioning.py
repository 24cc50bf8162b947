"""Partitioning: decide which files, or parts of a large file, make up one source."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Literal, TypeAlias, get_args

from curator_core.errors import CuratorError, NothingFoundError, PipelineError, reason_of
from curator_core.io.compression import compression_of
from curator_core.io.filesystems import (
    StorageOptions,
    describe_server_error,
    local_path,
    open_input,
    paths_as_text,
)
from curator_core.io.listing import FileFilter, find_files, is_readable, would_match
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import Empty

Split: TypeAlias = Literal["whole", "lines", "members", "row_groups"]
"""How a large file may be divided: not at all (whole), at any line, between Parquet row groups, or
at any stored byte (members), where the reader finds the next member or record itself.
"""

DEFAULT_PART_BYTES = 32 * 1024 * 1024
"""Default size of the parts of a splittable file."""

SAMPLED_FILES = 10
"""Number of files that are sampled."""

_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{ending}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for ending, base in (("", 1000), ("B", 1000), ("iB", 1024))
}
_UNITS_IN_CAPITALS = {unit.upper(): factor for unit, factor in _UNITS.items()}


@dataclass
class FilePartitioning(ProcessingStage[Empty, FileGroup]):
    """List files and group them into partitions, one task each.

    With neither `files_per_partition` nor `blocksize` each file is a partition, and a splittable
    file is divided into parts of 32 MiB. With `blocksize` small files share a partition.
    """

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…"""

    files_per_partition: int | None = None
    """Number of files per task."""

    blocksize: int | str | None = None
    """Approximate number of bytes per task (256MB): small files are grouped, large ones divided."""

    limit: int | None = None
    """Maximum number of tasks, for a trial run."""

    file_extensions: str | list[str] | None = None
    """File extensions to read in folders."""

    include: str | list[str] | None = None
    """Only files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """No files whose name, or path in the folder, matches one of these patterns."""

    split: Split = "whole"
    """How a large file may be divided: not at all, at any line, or between row groups."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        self.file_paths = paths_as_text(self.file_paths)

    def check(self) -> Iterator[str]:
        wrong = list(self._wrong_options())
        yield from wrong
        if wrong:
            return
        for path in self.paths:
            yield from self._wrong_path(path)

    def check_sources(self) -> Iterator[str]:
        if any(self._wrong_options()):
            return
        found = map(self._first_of, self.paths)
        yield from (str(first) for first in found if isinstance(first, NothingFoundError))

    def process(self, task: Empty) -> Iterator[FileGroup]:
        wrong = list(self._wrong_options())
        if wrong:
            raise PipelineError(wrong)
        for parts in islice(self._partitions(self.files()), self.limit):
            yield FileGroup(parts)

    def files(self) -> Iterator[FilePart]:
        """Yield the files, undivided."""
        return find_files(self.paths, self.file_filter, self.storage_options)

    @property
    def one_batch_per_task(self) -> bool:
        """Whether no task exceeds the usual part size, judging by the first files.

        Compressed files are not divided and their content may be of any size.
        """
        size = parse_size(self.blocksize) or DEFAULT_PART_BYTES
        if self.split != "lines" or self.files_per_partition or size > DEFAULT_PART_BYTES:
            return False
        return not any(compression_of(file.path) for file in islice(self.files(), SAMPLED_FILES))

    def would_read(self, path: str) -> bool:
        target = local_path(path) or path
        return any(would_match(target, local_path(p) or p, self.file_filter) for p in self.paths)

    @property
    def paths(self) -> list[str]:
        return _as_list(self.file_paths)

    @property
    def file_filter(self) -> FileFilter:
        endings = (ending.lower() for ending in _as_list(self.file_extensions))
        dotted = tuple(ending if ending.startswith(".") else f".{ending}" for ending in endings)
        return FileFilter(dotted, tuple(_as_list(self.include)), tuple(_as_list(self.exclude)))

    def _wrong_options(self) -> Iterator[str]:
        if not self.paths or not all(self.paths):
            yield "file_paths is empty; name a file, a folder, a glob pattern or a list of them"
        if self.files_per_partition is not None and self.blocksize is not None:
            yield "files_per_partition and blocksize are both set; set only one"
        for name in ("files_per_partition", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} is {value}, but must be 1 or more"
        if self.split not in get_args(Split):
            yield f"split is {self.split!r}, but must be one of {', '.join(get_args(Split))}"
        try:
            parse_size(self.blocksize)
        except PipelineError as error:
            yield str(error)

    def _wrong_path(self, path: str) -> Iterator[str]:
        first = self._first_of(path)
        if isinstance(first, FilePart):
            if not is_readable(first.path):
                yield f"cannot read {first.path}: permission denied; allow reading it"
        elif isinstance(first, CuratorError):
            if not isinstance(first, NothingFoundError):
                yield str(first)
        else:
            yield f"cannot list {path}: {_describe_listing_error(path, first)}"

    def _first_of(self, path: str) -> FilePart | Exception:
        try:
            return next(find_files([path], self.file_filter, self.storage_options))
        except Exception as error:  # noqa: BLE001 - every object store has its own errors
            return error

    def _partitions(self, files: Iterator[FilePart]) -> Iterator[list[FilePart]]:
        if self.files_per_partition is not None:
            return _batch_files(files, self.files_per_partition)
        size = parse_size(self.blocksize)
        if size is None:
            parts = (part for file in files for part in self._split_file(file, DEFAULT_PART_BYTES))
            return ([part] for part in parts)
        return group_files(
            files, size, lambda file: ([part] for part in self._split_file(file, size))
        )

    def _split_file(self, file: FilePart, size: int) -> Iterable[FilePart]:
        if file.size <= size or self.split == "whole":
            return [file]
        if self.split == "row_groups":
            return _row_group_parts(file, size, self.storage_options)
        if self.split == "lines" and compression_of(file.path):
            return [file]
        return _byte_parts(file, size)


def _describe_listing_error(path: str, error: Exception) -> str:
    if not path.startswith("http"):
        return reason_of(error)
    message = describe_server_error(error) or reason_of(error)
    return f"{message}; not every web server shows what is in a folder: name the files themselves"


def parse_size(size: int | str | None) -> int | None:
    """Return a size in bytes: `256MB` is 256 million, `256MiB` a few more."""
    if size is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(size))
    factor = _UNITS_IN_CAPITALS.get(match[2].upper()) if match else None
    value = int(float(match[1]) * factor) if match and factor else 0
    if value < 1:
        raise PipelineError(f"blocksize is {size!r}, but must be a size such as 256MB or 64MiB")
    return value


def group_files(
    files: Iterable[FilePart], size: int, divided: Callable[[FilePart], Iterable[list[FilePart]]]
) -> Iterator[list[FilePart]]:
    """Group small files, up to `size` bytes together; divide larger files with `divided`."""
    group: list[FilePart] = []
    filled = 0
    for file in files:
        if group and filled + file.size > size:
            yield group
            group, filled = [], 0
        if file.size > size:
            yield from divided(file)
        else:
            group.append(file)
            filled += file.size
    if group:
        yield group


def _byte_parts(file: FilePart, size: int) -> Iterator[FilePart]:
    """Yield parts of nearly equal size."""
    count = math.ceil(file.size / size)
    edges = [i * file.size // count for i in range(count + 1)]
    for start, end in pairwise(edges):
        last = None if end == file.size else end  # open end, in case the file grows
        yield FilePart(file.path, end - start, file.version, start, last)


def _row_group_parts(
    file: FilePart, size: int, storage_options: StorageOptions | None
) -> Iterator[FilePart]:
    weights = _row_group_sizes(file, storage_options)
    start, filled = 0, 0
    for index, weight in enumerate(weights):
        if filled and filled + weight > size:
            yield FilePart(file.path, filled, file.version, start, index)
            start, filled = index, 0
        filled += weight
    if start == 0:  # a single part, or a damaged file that the reader will report
        yield file
    else:
        yield FilePart(file.path, filled, file.version, start, len(weights))


def _row_group_sizes(file: FilePart, storage_options: StorageOptions | None) -> list[int]:
    """Estimate the stored size of each row group from the footer; empty if the file is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_input(file.path, storage_options) as source:
        try:
            footer = pq.ParquetFile(source).metadata
        except (pa.ArrowException, OSError):
            return []
    sizes = [footer.row_group(index).total_byte_size for index in range(footer.num_row_groups)]
    share = file.size / max(1, sum(sizes))
    return [max(1, int(size * share)) for size in sizes]


def _batch_files(files: Iterator[FilePart], count: int) -> Iterator[list[FilePart]]:
    while group := list(islice(files, count)):
        yield group


def _as_list(value: str | list[str] | None) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(item) for item in value]
