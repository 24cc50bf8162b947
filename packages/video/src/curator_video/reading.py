"""Video reader: list files and probe each video."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from curator_core.errors import InputError, is_damage
from curator_core.io.filesystems import StorageOptions, as_text
from curator_core.io.partitioning import FilePartitioning
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.tasks import Empty, Rejected

from curator_video.opening import ENDINGS
from curator_video.probing import probe
from curator_video.shards import SHARD_ENDINGS, is_shard, videos_in
from curator_video.sources import VideoSource
from curator_video.videos import Video


@dataclass
class VideoProbe(ProcessingStage[FileGroup, Video]):
    """Probe each file. Files that are not videos are quarantined with the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Use ${secret:NAME} for keys."""

    def process(self, task: FileGroup) -> Iterator[Video | Rejected]:
        for row, part in enumerate(task.data):
            found = 0
            try:
                for video in self._of_part(part, task.dataset_name):
                    found += 1
                    yield video
            except InputError as error:
                if len(task.data) == 1:
                    raise
                again = None if found else row  # else a retry would repeat the shard's videos
                yield Rejected(str(error), str(part), row=again, damaged=is_damage(error))

    def _of_part(self, part: FilePart, dataset_name: str) -> Iterator[Video | Rejected]:
        if not is_shard(part.path):
            source = VideoSource(part.path, part.size, part.version, None, self.storage_options)
            yield Video(source, dataset_name, facts=probe(source))
            return
        for found in videos_in(part, self.storage_options):
            yield found if isinstance(found, Rejected) else _member(*found, dataset_name)


def _member(source: VideoSource, metadata: dict[str, Any], dataset_name: str) -> Video | Rejected:
    try:
        return Video(source, dataset_name, metadata, probe(source))
    except InputError as error:
        return Rejected(str(error), where=source.path)


def _listable(path: str) -> str:
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

    endings: ClassVar[tuple[str, ...]] = (*ENDINGS, *SHARD_ENDINGS)

    def __post_init__(self) -> None:
        self.file_paths = as_text(self.file_paths)

    def decompose(self) -> Sequence[AnyStage]:
        paths = self.file_paths
        listing = FilePartitioning(
            _listable(paths) if isinstance(paths, str) else [_listable(path) for path in paths],
            limit=self.limit,
            file_extensions=self.file_extensions or list(self.endings),
            include=self.include,
            exclude=self.exclude,
            storage_options=self.storage_options,
        )
        probing = VideoProbe(self.storage_options)
        return [listing.with_(name=f"{self.name}_files"), probing.with_(name=self.name)]
