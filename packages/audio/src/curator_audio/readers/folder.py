"""Folders of recordings, with transcripts from text files of the same name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from curator_core import (
    AnyStage,
    CompositeStage,
    Empty,
    FileGroup,
    FilePartitioning,
    ProcessingStage,
)
from curator_core.io.filesystems import StorageOptions, local_path, open_input, paths_as_text

from curator_audio.audio_batch import PATH, TEXT, AudioBatch

_AUDIO = [".wav", ".flac", ".mp3", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".amr", ".wma"]

_RARE = [".aiff", ".aif", ".caf", ".w64", ".au", ".ac3", ".mka"]

_VIDEO = [".webm", ".mp4", ".m4v", ".mov", ".mkv", ".avi", ".3gp", ".ts", ".flv"]

ENDINGS = (*_AUDIO, *_RARE, *_VIDEO)
"""Extensions of audio files, and of videos, whose sound track is used."""

_LONGEST_TEXT = 1024 * 1024


@dataclass
class FolderReading(ProcessingStage[FileGroup, AudioBatch]):
    """Make a row for each file, without decoding it."""

    text_files: bool = True
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def outputs(self) -> Sequence[str]:
        return (PATH, TEXT) if self.text_files else (PATH,)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str]:
        return frozenset(self.outputs())

    def process(self, task: FileGroup) -> AudioBatch:
        paths = [local_path(path) or path for path in task.paths]
        columns = {PATH: pa.array(paths, pa.string())}
        if self.text_files:
            columns[TEXT] = pa.array([self._read_text_file(path) for path in paths], pa.string())
        return AudioBatch(pa.table(columns), metadata={"source_files": paths})

    def _read_text_file(self, path: str) -> str | None:
        """Return the content of `a.txt` for `a.wav`, or None."""
        from curator_core import InputError

        try:
            with open_input(f"{path.rpartition('.')[0]}.txt", self.storage_options) as file:
                return (file.read(_LONGEST_TEXT) or b"").decode("utf-8", "replace").strip()
        except (InputError, OSError):
            return None


@dataclass
class AudioFolderReader(CompositeStage[Empty, AudioBatch]):
    """Read recordings of any codec in folders, with the text from .txt files."""

    file_paths: str | list[str]
    """Files, folders, or patterns with * and **; one, or a list of them. Also URLs: s3://…"""

    files_per_partition: int = 16
    """Recordings per batch; models process them together."""

    limit: int | None = None
    """Maximum number of batches, to try something out."""

    file_extensions: str | list[str] | None = None
    """File extensions to read in folders. The usual ones of audio and video by default."""

    include: str | list[str] | None = None
    """Only files whose name, or path in the folder, matches one of these patterns."""

    exclude: str | list[str] | None = None
    """No files whose name, or path in the folder, matches one of these patterns."""

    text_files: bool = True
    """Whether to use the .txt file next to a recording as its text."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    endings: ClassVar[tuple[str, ...]] = ENDINGS

    def __post_init__(self) -> None:
        self.file_paths = paths_as_text(self.file_paths)

    def decompose(self) -> Sequence[AnyStage]:
        listing = FilePartitioning(
            self.file_paths,
            self.files_per_partition,
            None,
            self.limit,
            self.file_extensions or list(self.endings),
            self.include,
            self.exclude,
            "whole",
            self.storage_options,
        )
        reading = FolderReading(self.text_files, self.storage_options)
        return [listing.with_(name=f"{self.name}_files"), reading.with_(name=self.name)]
