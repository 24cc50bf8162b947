"""Segment grouping: keep all segments of a recording in one batch.

Stages that join segments see one batch at a time, so all segments of a recording must be in one
batch. This holds if they are consecutive in one manifest. Otherwise the batches carry the reason,
and the stages reject them.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import orjson
from curator_core import CuratorError, Empty, FileGroup, FilePart, PipelineError
from curator_core.io.compression import DamagedStreamError, compression_of, decompress
from curator_core.io.filesystems import is_url, join, open_input, parent_of
from curator_core.io.partitioning import (
    DEFAULT_PART_BYTES,
    SAMPLED_FILES,
    FilePartitioning,
    parse_size,
)
from curator_core.io.readers import Lines, lines_in_range, whole_lines

from curator_audio.audio_batch import OFFSET, PATH, SCATTERED, AudioBatch

NOT_GROUPED = (
    "this reader does not keep the segments of a recording together; read them with "
    f"audio.manifest_reader from one manifest, sorted by {PATH}"
)

_HEAD = 64 * 1024
"""Bytes at the beginning of a manifest that are searched for segments."""


class ManifestLine(NamedTuple):
    """Position of a line, and the recording that it names, if any."""

    number: int
    offset: int
    recording: str | None


@dataclass
class ManifestPartitioning(FilePartitioning):
    """List manifests; scan manifests of segments once, and divide them between recordings."""

    audio_root: str | None = field(default=None, kw_only=True)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        if wrong := list(self._wrong_options()):
            raise PipelineError(wrong)
        files = list(self.files())
        self._split_offsets: dict[str, list[int]] = {}
        known: dict[str, str] = {}
        if self._holds_segments(files):
            known = {SCATTERED: self._scan(files) or ""}
        for parts in islice(self._partitions(iter(files)), self.limit):
            yield FileGroup(parts, metadata=dict(known))

    def _split_file(self, file: FilePart, size: int) -> Iterable[FilePart]:
        edges = self._split_offsets.get(file.path)
        if edges is None:
            return super()._split_file(file, size)
        ends: list[int | None] = [*edges[1:], None]  # includes lines appended later
        return [
            FilePart(file.path, (end or file.size) - start, file.version, start, end)
            for start, end in zip(edges, ends, strict=True)
        ]

    def _holds_segments(self, files: Sequence[FilePart]) -> bool:
        """Return whether rows have an offset, judging by the first files."""
        for file in files[:SAMPLED_FILES]:
            with suppress(CuratorError, OSError, DamagedStreamError):
                lines = next(self._lines(file), None)
                if lines is not None and f'"{OFFSET}"'.encode() in lines.data[:_HEAD]:
                    return True
        return False

    def _scan(self, files: Sequence[FilePart]) -> str | None:
        """Store where to divide each file; return a message if a recording appears again later."""
        size = parse_size(self.blocksize) or DEFAULT_PART_BYTES
        found = array("q")  # eight bytes per recording: there may be millions
        for file in files:
            edges = [0]
            for line in self._recording_starts(file):
                if line.recording is not None:
                    found.append(hash(line.recording))
                if line.offset - edges[-1] >= size:
                    edges.append(line.offset)
            if compression_of(file.path) is None:
                self._split_offsets[file.path] = edges
        hashes = np.sort(np.frombuffer(found, np.int64))
        again = hashes[1:][hashes[1:] == hashes[:-1]]
        return self._describe_scattered(files, int(again[0])) if again.size else None

    def _describe_scattered(self, files: Sequence[FilePart], digest: int) -> str:
        sightings = (
            (f"{file.path} line {line.number}", line.recording)
            for file in files
            for line in self._recording_starts(file)
            if line.recording is not None and hash(line.recording) == digest
        )
        (first, recording), (second, _) = islice(sightings, 2)
        return (
            f"the segments of {recording} are not consecutive ({first}, {second}); sort all lines "
            f"by {PATH} into one manifest"
        )

    def _recording_starts(self, file: FilePart) -> Iterator[ManifestLine]:
        """Yield the first line of each recording, and lines that name no recording."""
        last: str | None = None
        for line in self._read_lines(file):
            if line.recording is None or line.recording != last:
                yield line
            last = line.recording

    def _read_lines(self, file: FilePart) -> Iterator[ManifestLine]:
        """Yield the lines of a manifest up to the first error, which its reader reports later."""
        folder = parent_of(file.path) if self.audio_root is None else self.audio_root
        number = 0
        with suppress(CuratorError, OSError, DamagedStreamError):
            for lines in self._lines(file):
                offset = lines.offset
                for line in lines.data.removesuffix(b"\n").split(b"\n"):
                    number += 1
                    yield ManifestLine(number, offset, _recording_of(line, folder))
                    offset += len(line) + 1

    def _lines(self, file: FilePart) -> Iterator[Lines]:
        reopen = partial(open_input, file.path, self.storage_options)
        compression = compression_of(file.path)
        if compression is not None:
            yield from whole_lines(decompress(reopen, compression))
            return
        with reopen() as source:
            yield from lines_in_range(source, 0, None)


def _recording_of(line: bytes, folder: str) -> str | None:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    path = record.get(PATH) if isinstance(record, dict) else None
    return resolve_path(folder, path) if isinstance(path, str) else None


def resolve_path(folder: str, path: str | None) -> str | None:
    """Return a path of a manifest; relative paths are resolved against the folder."""
    if not path or path.startswith(("/", "~")) or is_url(path) or not folder:
        return path
    return join(folder, path)


Out = TypeVar("Out")


def mark_scattered(outputs: Iterable[Out], reason: str) -> Iterator[Out]:
    """Mark batches of segments with the reason why recordings may span batches, if any."""
    for one in outputs:
        if reason and isinstance(one, AudioBatch) and OFFSET in one.columns():
            one.metadata[SCATTERED] = reason
        yield one
