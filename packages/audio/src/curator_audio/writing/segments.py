"""Segments as files, with a manifest that names them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import AnyStage, CompositeStage, DocumentBatch, FileGroup, FilePart
from curator_core.filesystems import StorageOptions, join
from curator_core.staging import writing
from curator_core.writing.stages import Mode

from curator_audio.batches import AUDIO, PATH, AudioBatch
from curator_audio.encoding import Format
from curator_audio.forms import Channels, Quality
from curator_audio.writing.encoders import AudioEncoder
from curator_audio.writing.manifests import ManifestWriter


@dataclass
class SegmentFiles(ManifestWriter):
    """Writes encoded rows as files in the folder `audio`, and a manifest beside it."""

    @property
    def output_is_tree(self) -> bool:
        return True

    def inputs(self) -> Sequence[str]:
        return (PATH, AUDIO, *super().inputs())

    def process(self, task: DocumentBatch) -> FileGroup:
        written = FileGroup([], task.dataset_name)
        paths = []
        names = task.data.column(PATH).to_pylist()
        for name, data in zip(names, task.data.column(AUDIO), strict=True):
            final = join(self.path, "audio", name)
            with writing(final, self._worker, self.storage_options) as draft:
                draft.file.write(memoryview(data.as_buffer()))
            written.data.append(FilePart(draft.final, draft.size))
            written.staged = (*written.staged, draft.finished())
            paths.append(f"audio/{name}")
        place = task.data.column_names.index(PATH)
        table = task.data.set_column(place, PATH, pa.array(paths, pa.string()))
        manifest = super().process(task.with_data(table.drop_columns([AUDIO])))
        written.data += manifest.data
        written.staged = (*written.staged, *manifest.staged)
        return written


@dataclass
class SegmentWriter(CompositeStage[AudioBatch, FileGroup]):
    """Writes each row as a file of flac, wav or opus, and manifests with relative paths to them."""

    path: str
    """The folder to write to."""

    format: Format = "flac"
    """flac, wav (both of 16 bits) or opus."""

    sample_rate: int | None = 16_000
    """Samples a second; null for as recorded."""

    channels: Channels = "mono"
    """mono (the mean), all, or the number of one, from 0."""

    quality: Quality = "best"
    """How to resample: best (a long window) or fast (FFmpeg's filter)."""

    mode: Mode = "error"
    """What to do where the folder holds other data: refuse, append to it, or overwrite it."""

    dropped_path: str | None = None
    """Another folder, for the records that any stage drops, each with the stage and the reason."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        return [self.encoder().with_(name=f"{self.name}_encoder"), self.files()]

    def encoder(self) -> AudioEncoder:
        return AudioEncoder(
            self.format, self.sample_rate, self.channels, self.quality, self.storage_options
        )

    def files(self) -> AnyStage:
        stage = SegmentFiles(
            self.path,
            self.mode,
            dropped_path=self.dropped_path,
            storage_options=self.storage_options,
        )
        return stage.with_(name=self.name)
