"""Video reader: list files and probe each video."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from curator_core import (
    AnyStage,
    CompositeStage,
    Empty,
    FileGroup,
    FilePart,
    ProcessingStage,
    Rejected,
)
from curator_core.errors import InputError, is_damaged_input
from curator_core.io.filesystems import StorageOptions, paths_as_text
from curator_core.io.partitioning import FilePartitioning

from curator_video.container import EXTENSIONS
from curator_video.probing import probe
from curator_video.shards import SHARD_EXTENSIONS, is_shard, read_shard
from curator_video.source import VideoSource
from curator_video.tasks import Video


@dataclass
class VideoProbe(ProcessingStage[FileGroup, Video]):
    """Probe each file. Files that are not videos are quarantined with the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Use ${secret:NAME} for keys."""

    def process(self, task: FileGroup) -> Iterator[Video | Rejected]:
        for row, part in enumerate(task.data):
            found = 0
            try:
                for video in self._read_part(part, task.dataset_name):
                    found += 1
                    yield video
            except InputError as error:
                if len(task.data) == 1:
                    raise
                retry_row = None if found else row  # else a retry would repeat the shard's videos
                yield Rejected(
                    str(error), str(part), row=retry_row, damaged=is_damaged_input(error)
                )

    def _read_part(self, part: FilePart, dataset_name: str) -> Iterator[Video | Rejected]:
        if not is_shard(part.path):
            source = VideoSource(part.path, part.size, part.version, None, self.storage_options)
            yield Video(source, dataset_name, facts=probe(source))
            return
        for item in read_shard(part, self.storage_options):
            yield item if isinstance(item, Rejected) else _probe_member(*item, dataset_name)


def _probe_member(
    source: VideoSource, metadata: dict[str, Any], dataset_name: str
) -> Video | Rejected:
    try:
        return Video(source, dataset_name, metadata, probe(source))
    except InputError as error:
        return Rejected(str(error), where=source.path)


def _to_listable(path: str) -> str:
    """Extend a web server's folder URL to a recursive pattern; only links lead to its files."""
    is_page = path.rpartition("::")[2].startswith(("http://", "https://")) and path.endswith("/")
    return f"{path}**" if is_page else path


@dataclass
class VideoReader(CompositeStage[Empty, Video]):
    """List and probe videos (mp4, mov, mkv, webm, avi, ts) without copying them.

    Also reads videos in tar shards (.tar); a video's JSON and text sidecars become its metadata.
    """

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one or a list. URLs such as s3://… work too.

    For a folder on a web server, the URL must end in / and the server must list its contents."""

    limit: int | None = None
    """Maximum number of videos, for trying things out."""

    file_extensions: str | list[str] | None = None
    """File extensions to read in folders. All supported ones by default."""

    include: str | list[str] | None = None
    """Only read files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """Skip files whose name, or path in the folder, matches one of these patterns."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Use ${secret:NAME} for keys."""

    extensions: ClassVar[tuple[str, ...]] = (*EXTENSIONS, *SHARD_EXTENSIONS)

    def __post_init__(self) -> None:
        self.file_paths = paths_as_text(self.file_paths)

    def decompose(self) -> Sequence[AnyStage]:
        paths = self.file_paths
        listing = FilePartitioning(
            _to_listable(paths)
            if isinstance(paths, str)
            else [_to_listable(path) for path in paths],
            limit=self.limit,
            file_extensions=self.file_extensions or list(self.extensions),
            include=self.include,
            exclude=self.exclude,
            storage_options=self.storage_options,
        )
        probing = VideoProbe(self.storage_options)
        return [listing.with_(name=f"{self.name}_files"), probing.with_(name=self.name)]
