"""Segment files: write rows as audio files, with a manifest."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    FileGroup,
    FilePart,
    Rejected,
    StagedFile,
)
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.writers import Draft, Mode, open_draft

from curator_audio.audio_batch import PATH, AudioBatch
from curator_audio.container import UndecodableError
from curator_audio.encoding import BlockEncoder, FileFormat
from curator_audio.waveform import AudioFormat, Channels, Quality, Waveform
from curator_audio.writers.encoder import AudioEncoder, EncodedFile, describe_rows, file_name
from curator_audio.writers.manifest import ManifestWriter


@dataclass(frozen=True)
class _StagedRecording(EncodedFile):
    """A row whose file is written and will be published with the manifest."""

    part: FilePart
    staged: StagedFile


class _FileEncoder:
    """Encode a row into its file block by block, so that its length does not matter."""

    def __init__(self, final: str, stage: "SegmentFiles") -> None:
        self._final, self._stage = final, stage
        self._open = ExitStack()
        self._draft: Draft | None = None

    def add(self, block: Waveform) -> None:
        with self._undone_on_error():
            if self._draft is None:  # at the first block, so that few files are open
                self._draft = self._open.enter_context(self._stage.draft(self._final))
                self._encoder = BlockEncoder(self._draft.file, self._stage.format)
                self._open.callback(self._encoder.abort)
            self._encoder.write(block)

    def result(self) -> _StagedRecording:
        encoder, draft = self._encoder, self._draft
        assert draft is not None
        with self._undone_on_error():
            encoder.close()
            draft.file.seek(0, os.SEEK_END)  # the header was completed last
        self._open.close()
        part = FilePart(draft.final, draft.size)
        return _StagedRecording(encoder.seconds, encoder.sample_rate, part, draft.staged_file())

    def discard(self) -> None:
        """Remove an unfinished file."""
        with suppress(_DiscardedError), self._open:
            raise _DiscardedError

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        with ExitStack() as guard:
            guard.push(self._open)
            yield
            guard.pop_all()


class _DiscardedError(Exception):
    """Aborts writing an unfinished file."""


@dataclass
class SegmentFiles(ManifestWriter):
    """Write rows as files in the folder `audio` while they are decoded, and a manifest."""

    format: FileFormat = field(default="flac", kw_only=True)
    sample_rate: int | None = field(default=16_000, kw_only=True)
    channels: Channels = field(default="mono", kw_only=True)
    quality: Quality = field(default="best", kw_only=True)

    @property
    def output_is_tree(self) -> bool:
        return True

    def inputs(self) -> Sequence[str]:
        return (PATH, *super().inputs())

    def check(self) -> Iterator[str]:
        yield from super().check()
        yield from AudioEncoder(self.format, self.sample_rate, self.channels, self.quality).check()

    def draft(self, final: str) -> AbstractContextManager[Draft]:
        return open_draft(final, self._worker, self.storage_options)

    def process(self, task: DocumentBatch) -> Iterator[FileGroup | Rejected]:  # type: ignore[override]
        assert isinstance(task, AudioBatch)
        encoders: dict[int, _FileEncoder] = {}
        names: dict[int, str] = {}

        def encoder_for(row: int) -> _FileEncoder:
            names[row] = f"audio/{file_name(task, row, self.format)}"
            encoders[row] = _FileEncoder(join(self.path, names[row]), self)
            return encoders[row]

        audio_format = AudioFormat(self.sample_rate, self.channels, self.quality)
        done: dict[int, _StagedRecording] = {}
        try:
            for row, result in task.iter_decoded(audio_format, encoder_for, self.storage_options):
                if isinstance(result, UndecodableError):
                    yield Rejected(str(result), task.describe_row(row))
                else:
                    done[row] = result
        finally:
            for encoder in encoders.values():
                encoder.discard()
        if done:
            rows = sorted(done)
            files = [done[row] for row in rows]
            named = describe_rows(task, rows, files, [names[row] for row in rows])
            yield self._with_manifest(named, files)

    def _with_manifest(self, task: AudioBatch, files: Sequence[_StagedRecording]) -> FileGroup:
        written = super().process(task)
        written.data = [*(file.part for file in files), *written.data]
        written.staged = (*(file.staged for file in files), *written.staged)
        return written


@dataclass
class SegmentWriter(CompositeStage[AudioBatch, FileGroup]):
    """Write each row as a flac, wav or opus file, and manifests with relative paths."""

    path: str
    """Folder to write to."""

    format: FileFormat = "flac"
    """flac, wav (both with 16 bits) or opus."""

    sample_rate: int | None = 16_000
    """Sample rate of the output, in Hz; null keeps the original rate."""

    channels: Channels = "mono"
    """mono (the mean), all, or the number of one channel, from 0."""

    quality: Quality = "best"
    """Resampling method: best (a long window) or fast (FFmpeg's filter)."""

    mode: Mode = "error"
    """What to do if the folder has other data: error, append or overwrite."""

    dropped_path: str | None = None
    """Folder for the records that any stage drops, each with the stage and the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        stage = SegmentFiles(
            self.path,
            self.mode,
            dropped_path=self.dropped_path,
            storage_options=self.storage_options,
            format=self.format,
            sample_rate=self.sample_rate,
            channels=self.channels,
            quality=self.quality,
        )
        return [stage.with_(name=self.name)]
