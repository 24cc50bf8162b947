"""The writer of WebDataset shards: tar files of clips with their JSON metadata."""

import json
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO

from curator_core import AnyTask, DropSink, FileGroup, FilePart, Mixed, StagedFile, WorkerInfo
from curator_core.io.filesystems import join
from curator_core.io.writers import open_draft
from curator_core.model.ids import fingerprint

from curator_video.tasks import Clip
from curator_video.writers.clip_metadata import clip_metadata, index_row
from curator_video.writers.clip_writer import ClipWriter

DropInfo = dict[str, str] | None
_MAX_BUFFERED = 64 * 1024 * 1024
"""Bytes of filtered clips to buffer before they are written."""


@dataclass
class ClipShardWriter(ClipWriter):
    """Write clips to WebDataset shards, with JSON metadata and previews.

    Each batch becomes a shard in `shards/*.tar`. Filtered clips go to separate shards in
    `filtered/`. A Parquet index lists the location of each clip.
    """

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        if not self.keep_filtered:
            return None
        writer = replace(self)
        writer.setup(worker)
        return _FilteredShards(writer)

    def process_batch(self, tasks: Sequence[Clip]) -> Mixed[FileGroup]:
        if not tasks:
            return Mixed([])
        written = FileGroup([])
        shard, locations = self.write_shard("shards", [(clip, None) for clip in tasks])
        rows = [index_row(clip, location) for clip, location in zip(tasks, locations, strict=True)]
        written.staged = (shard, self._write_index(rows))
        written.data = [FilePart(file.final, file.size) for file in written.staged]
        return Mixed([written])

    def write_shard(
        self, folder: str, clips: Sequence[tuple[Clip, DropInfo]]
    ) -> tuple[StagedFile, list[str | None]]:
        """Write a shard; return it with the URL of each clip in it."""
        part = fingerprint(*(clip.clip_id for clip, _ in clips))
        final = join(self.path, folder, f"part-{part}.tar")
        locations: list[str | None] = []
        with open_draft(final, self._worker, self.storage_options) as draft:
            with tarfile.open(fileobj=draft.file, mode="w", format=tarfile.GNU_FORMAT) as tar:
                for clip, dropped in clips:
                    locations.append(_location(clip, final))
                    for extension, content in _files(clip, locations[-1], dropped):
                        _add(tar, f"{clip.clip_id}.{extension}", content)
            draft.items = sum(dropped is None for _, dropped in clips)
        return draft.staged_file(), locations


class _FilteredShards(DropSink):
    """Write filtered clips in shards of limited size, so that memory stays bounded."""

    def __init__(self, writer: ClipShardWriter) -> None:
        self._writer = writer
        self._waiting: list[tuple[Clip, DropInfo]] = []
        self._staged: list[StagedFile] = []

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        if isinstance(records, Clip):  # the report covers videos without clips
            self._waiting.append((records, {"stage": stage, "reason": reason}))
            if sum(clip.num_bytes for clip, _ in self._waiting) > _MAX_BUFFERED:
                self._write()

    def _write(self) -> None:
        if self._waiting:
            staged, _ = self._writer.write_shard("filtered", self._waiting)
            self._staged.append(replace(staged, dropped=True))
            self._waiting = []

    def finish(self, call_id: str) -> list[StagedFile]:
        self._write()
        staged, self._staged = self._staged, []
        return staged


def _location(clip: Clip, shard: str) -> str | None:
    cut = clip.data.encoded
    return None if cut is None else f"tar://{clip.clip_id}.{cut.extension}::{shard}"


def _files(clip: Clip, location: str | None, dropped: DropInfo) -> Iterable[tuple[str, bytes]]:
    if clip.data.encoded is not None:
        yield clip.data.encoded.extension, clip.data.encoded.content
    metadata = json.dumps(clip_metadata(clip, location, dropped), indent=2)
    yield "json", metadata.encode() + b"\n"
    if clip.data.preview is not None:
        yield "webp", clip.data.preview


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file without owner and date, so that shards are reproducible."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, BytesIO(content))
