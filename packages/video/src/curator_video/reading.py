"""Reading videos: which there are, and what each of them is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core.errors import InputError
from curator_core.files import FileGroup
from curator_core.filesystems import StorageOptions, as_text
from curator_core.outcomes import Rejected
from curator_core.partitioning import FilePartitioning
from curator_core.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.tasks import Empty

from curator_video.opening import ENDINGS
from curator_video.probing import probe
from curator_video.sources import VideoSource
from curator_video.videos import Video


@dataclass
class VideoProbe(ProcessingStage[FileGroup, Video]):
    """Finds out of each file what video it is. What is none is set aside with the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def process(self, task: FileGroup) -> Iterator[Video | Rejected]:
        for part in task.data:
            source = VideoSource(part.path, part.size, part.version, None, self.storage_options)
            try:
                facts = probe(source)
            except InputError as error:
                if len(task.data) == 1:
                    raise
                yield Rejected(str(error), where=str(part))  # its neighbours are videos
                continue
            yield Video(source, task.dataset_name, facts=facts)


@dataclass
class VideoReader(CompositeStage[Empty, Video]):
    """Lists videos (mp4, mov, mkv, webm, avi, ts) and says what each is; their bytes stay there."""

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…"""

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

    endings: ClassVar[tuple[str, ...]] = ENDINGS

    def __post_init__(self) -> None:
        self.file_paths = as_text(self.file_paths)

    def decompose(self) -> Sequence[AnyStage]:
        listing = FilePartitioning(
            self.file_paths,
            limit=self.limit,
            file_extensions=self.file_extensions or list(self.endings),
            include=self.include,
            exclude=self.exclude,
            storage_options=self.storage_options,
        )
        probing = VideoProbe(self.storage_options)
        return [listing.with_(name=f"{self.name}_files"), probing.with_(name=self.name)]
