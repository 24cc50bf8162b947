"""Reading videos: which there are, and what each of them is."""

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
    """Finds out of each file what video it is. What is none is set aside with the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

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
                again = None if found else row  # or a shard's videos would be there twice
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
    """Web servers have no folders, only pages with links to what is below them."""
    is_page = path.rpartition("::")[2].startswith(("http://", "https://")) and path.endswith("/")
    return f"{path}**" if is_page else path


@dataclass
class VideoReader(CompositeStage[Empty, Video]):
    """Lists videos (mp4, mov, mkv, webm, avi, ts) and says what each is; their bytes stay there.

    Those in shards (.tar) as well; what stands beside one as JSON or text goes into its metadata.
    """

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…

    The address of a web server's folder ends in /, and the server has to show what is in it.
    """

    limit: int | None = None
    """No more than so many videos, to try something out."""

    file_extensions: str | list[str] | None = None
    """Which endings count in a folder, unless the usual ones."""

    include: str | list[str] | None = None
    """Only files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """No files whose name, or path in the folder, matches one of these patterns."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

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
