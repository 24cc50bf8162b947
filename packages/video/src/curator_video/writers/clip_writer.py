"""The writer of clip files, with their metadata and an index."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, get_args

from curator_core import (
    AnyTask,
    DropSink,
    FileGroup,
    FilePart,
    Mixed,
    ProcessingStage,
    StagedFile,
    WorkerInfo,
)
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.writers import Mode, open_draft
from curator_core.model.ids import fingerprint

from curator_video.tasks import Clip
from curator_video.writers.clip_metadata import clip_metadata, index_row, index_table


@dataclass
class ClipWriter(ProcessingStage[Clip, FileGroup]):
    """Write clips to files, with JSON metadata for each clip and a Parquet index.

    Clips go to `clips/`, metadata to `metas/v0/`. Filtered clips that were already cut go to
    `filtered_clips/`. The metadata of all filtered clips goes to `metas/v0/`, with the stage and
    the reason.
    """

    writes: ClassVar[bool] = True
    output_is_tree: ClassVar[bool] = True
    batch_size = 32

    path: str
    """Output folder."""

    mode: Mode = "error"
    """If the folder holds other data: refuse, append to it, or overwrite it."""

    keep_filtered: bool = True
    """Also write filtered clips."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """fsspec options for an object store. Use ${secret:NAME} for keys."""

    def __post_init__(self) -> None:
        self.path = os.fspath(self.path)
        self._worker = WorkerInfo()

    @property
    def output_path(self) -> str:
        return self.path

    def check(self) -> Iterator[str]:
        if self.mode not in get_args(Mode):
            yield f"mode is {self.mode!r}{hint(str(self.mode), get_args(Mode))}"
        if not self.path:
            yield "path is empty; give the output folder"

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        if not self.keep_filtered:
            return None
        writer = replace(self)
        writer.setup(worker)
        return FilteredClipSink(writer)

    def process_batch(self, tasks: Sequence[Clip]) -> Mixed[FileGroup]:
        written = FileGroup([])
        rows = []
        for clip in tasks:
            staged = self.write_clip(clip, None)
            written.staged = (*written.staged, *staged)
            rows.append(index_row(clip, self._location(clip, None)))
        written.staged = (*written.staged, self._write_index(rows))
        written.data = [FilePart(file.final, file.size) for file in written.staged]
        return Mixed([written] if tasks else [])

    def write_clip(self, clip: Clip, dropped: dict[str, str] | None) -> list[StagedFile]:
        """Stage the clip's files: its video if cut, its preview if any, and its JSON metadata."""
        location = self._location(clip, dropped)
        staged = []
        if location is not None and clip.data.encoded is not None:
            staged.append(self._write(location, clip.data.encoded.content, int(not dropped)))
        if clip.data.preview is not None:
            preview = join(self.path, "previews", f"{clip.clip_id}.webp")
            staged.append(self._write(preview, clip.data.preview, 0))
        metadata = json.dumps(clip_metadata(clip, location, dropped), indent=2).encode()
        name = join(self.path, "metas", "v0", f"{clip.clip_id}.json")
        staged.append(self._write(name, metadata + b"\n", int(location is None and not dropped)))
        return [replace(one, dropped=dropped is not None) for one in staged]

    def _location(self, clip: Clip, dropped: dict[str, str] | None) -> str | None:
        if clip.data.encoded is None:
            return None
        folder = "clips" if dropped is None else "filtered_clips"
        return join(self.path, folder, f"{clip.clip_id}.{clip.data.encoded.extension}")

    def _write(self, final: str, content: bytes, items: int) -> StagedFile:
        with open_draft(final, self._worker, self.storage_options) as draft:
            draft.file.write(content)
            draft.items = items
        return draft.staged_file()

    def _write_index(self, rows: list[dict[str, object]]) -> StagedFile:
        import pyarrow.parquet as pq

        table = index_table(rows)
        part = fingerprint(*(str(row["clip_id"]) for row in rows))
        final = join(self.path, "index", f"part-{part}.parquet")
        with open_draft(final, self._worker, self.storage_options) as draft:
            pq.write_table(table, draft.file, compression="zstd")
        return draft.staged_file()


class FilteredClipSink(DropSink):
    """Write dropped clips at once, so that their bytes are not kept until the call ends."""

    def __init__(self, writer: ClipWriter) -> None:
        self._writer = writer
        self._staged: list[StagedFile] = []

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        if isinstance(records, Clip):  # the report covers videos without clips
            dropped = {"stage": stage, "reason": reason}
            self._staged += self._writer.write_clip(records, dropped)

    def finish(self, call_id: str) -> list[StagedFile]:
        staged, self._staged = self._staged, []
        return staged
