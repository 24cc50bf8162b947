"""Shards: tar files of WebDataset, in which the files of a sample are consecutive."""

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, cast

import orjson
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, Rejected
from curator_core.errors import InputError
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import FilePartitioning, parse_size
from curator_core.io.readers import Columns, FileReader, Piece, ReadingStage, to_columns, to_table

from curator_audio.audio_batch import AUDIO, PATH, TEXT, AudioBatch
from curator_audio.readers.folder import ENDINGS
from curator_audio.readers.segment_grouping import NOT_GROUPED, mark_scattered

_BATCH_ROWS = 16
"""Recordings per piece; models process them together."""

_DAMAGE = (tarfile.TarError, EOFError, OSError, ValueError)


@dataclass
class _SampleFiles:
    """The members with one key that were read so far."""

    key: str
    audio: bytes | None = None
    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    problem: str | None = None

    def add(self, name: str, data: bytes) -> None:
        ending = name[name.rindex(".") :].lower()
        if ending in ENDINGS and self.audio is None:
            self.audio, self.name = data, name
        elif ending in ENDINGS:
            self.problem = f"it has two recordings, {self.name} and {name}"
        elif ending == ".txt":
            self.text = data.decode("utf-8", "replace").strip()
        elif ending == ".json":
            self._add_facts(name, data)

    def _add_facts(self, name: str, data: bytes) -> None:
        try:
            facts = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            self.problem = f"{name} is not valid JSON: {error}"
            return
        if isinstance(facts, dict):
            self.facts = facts
        else:
            self.problem = f"{name} is not a JSON object"

    def record(self, shard: str) -> dict[str, Any]:
        """Return the fields of the sample; its path is that of the member in its shard."""
        fields = {name: value for name, value in self.facts.items() if name not in (PATH, AUDIO)}
        if TEXT not in fields and self.text is not None:
            fields[TEXT] = self.text
        return {PATH: f"{shard}/{self.name}", **fields}


@dataclass(frozen=True)
class _ShardPiece:
    """Some recordings and their other columns."""

    columns: Columns
    audio: list[bytes]


@dataclass
class ShardReading(ReadingStage[_ShardPiece]):
    """Read tar files sequentially, one member at a time."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch
    max_file_bytes: int = field(default=0, kw_only=True)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped | Rejected]:
        return mark_scattered(super().process(task), NOT_GROUPED)

    def pieces(self, part: FilePart) -> Iterator[Piece[_ShardPiece] | Rejected]:
        waiting: list[_SampleFiles] = []
        for group in self._groups(part):
            reason = _problem(group)
            if isinstance(group, Rejected):
                yield group
            elif reason is not None:
                yield Rejected(reason, f"{part.path} key {group.key!r}")
            else:
                waiting.append(group)
            if len(waiting) == _BATCH_ROWS:
                yield self._piece(part, waiting)
                waiting = []
        if waiting:
            yield self._piece(part, waiting)

    def _piece(self, part: FilePart, groups: Sequence[_SampleFiles]) -> Piece[_ShardPiece]:
        audio = [group.audio or b"" for group in groups]
        records = [group.record(part.path) for group in groups]
        fields = None if self.fields is None else list(dict.fromkeys((PATH, *self.fields)))
        columns = to_columns(records, fields, self.text_field)
        return Piece(_ShardPiece(columns, audio), sum(map(len, audio)))

    def _groups(self, part: FilePart) -> Iterator[_SampleFiles | Rejected]:
        group: _SampleFiles | None = None
        try:
            with self._open(part) as archive:
                for member in archive:
                    key = _key(member)
                    if key is None:
                        continue
                    if group is not None and key != group.key:
                        yield group
                        group = None
                    group = group or _SampleFiles(key)
                    self._take(archive, member, group)
        except _DAMAGE as error:
            where = f"within {group.key!r}" if group is not None else "at its beginning"
            reason = f"the shard is damaged {where}: {error}; the rest of it is skipped"
            yield Rejected(reason, part.path)
            return
        if group is not None:
            yield group

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo, group: _SampleFiles) -> None:
        if member.size > self.max_file_bytes:
            group.problem = (
                f"{member.name} has {member.size:,} bytes, more than {self.max_file_bytes:,}; "
                "set max_file_bytes"
            )
            return
        file = archive.extractfile(member)
        data = b"" if file is None else file.read()
        if len(data) < member.size:
            raise tarfile.ReadError(f"{member.name} is cut off")
        group.add(member.name, data)

    @contextmanager
    def _open(self, part: FilePart) -> Iterator[tarfile.TarFile]:
        with open_input(part.path, self.storage_options) as source:
            if not source.read(1):
                raise InputError(f"cannot read {part.path}: it is empty (0 bytes)")
            source.seek(0)
            with _archive(source, part.path) as archive:
                yield archive

    def table(self, pieces: Sequence[_ShardPiece]) -> pa.Table:
        table = to_table([piece.columns for piece in pieces])
        audio = pa.array([data for piece in pieces for data in piece.audio], pa.binary())
        return table.append_column(AUDIO, audio)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        piece = next((one for one in self.pieces(part) if isinstance(one, Piece)), None)
        return () if piece is None else (*piece.content.columns.arrays, AUDIO)


def _archive(source: BinaryIO, path: str) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=source, mode="r|*")
    except tarfile.TarError:
        raise InputError(f"cannot read {path}: it is not a tar file") from None


def _problem(group: _SampleFiles | Rejected) -> str | None:
    if isinstance(group, Rejected):
        return None
    if group.problem is None and group.audio is None:
        return "it has no recording"
    return group.problem


def _key(member: tarfile.TarInfo) -> str | None:
    """Return the path up to the first dot of the name; None for non-files or without a key."""
    folder, slash, name = member.name.rpartition("/")
    stem, dot, _ = name.partition(".")
    if not member.isreg() or not stem or not dot:
        return None
    return f"{folder}{slash}{stem}"


@dataclass
class ShardReader(FileReader):
    """Read WebDataset shards: recordings with their .json and .txt files.

    Shards are .tar files, or .tar compressed as .gz, .bz2 or .xz. `audio` holds the encoded
    recording, `audio_filepath` its shard and member name. Samples that have no recording, or cannot
    be read, are quarantined with their key.
    """

    max_file_bytes: int | str = field(default="256MiB", kw_only=True)
    """Largest member to read; samples with a larger one are quarantined."""

    endings: ClassVar[tuple[str, ...]] = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
    reading = ShardReading

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(ShardReading, super().reading_stage(listing))
        stage.max_file_bytes = parse_size(self.max_file_bytes) or 0
        return stage
