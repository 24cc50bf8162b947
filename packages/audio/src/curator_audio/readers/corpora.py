"""Corpora: folders like those of LibriSpeech and FLEURS, with the transcripts in tables."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pyarrow as pa
from curator_core import AnyStage, DocumentBatch, FilePart, Rejected
from curator_core.io.filesystems import base_name, join, open_filesystem, open_input, parent_of
from curator_core.io.partitioning import FilePartitioning, Split
from curator_core.io.readers import (
    Columns,
    FileReader,
    Piece,
    ReadingStage,
    Record,
    lines_in_range,
    to_columns,
    to_table,
)

from curator_audio.audio_batch import DURATION, PATH, TEXT, AudioBatch
from curator_audio.readers.manifest import BATCH_ROWS, with_small_sources

_FLEURS_RATE = 16_000


@dataclass
class TranscriptReading(ReadingStage[Columns]):
    """Read lines of text, one per recording. Subclasses parse the lines of a corpus."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch
    malformed_reason: ClassVar[str] = ""
    """Reason for quarantining a line that cannot be parsed."""

    def pieces(self, part: FilePart) -> Iterator[Piece[Columns] | Rejected]:
        folder = self.folder(part)
        records: list[Record] = []
        for where, line in self._lines(part):
            record = self.record(line, folder)
            if record is not None:
                records.append(record)
            elif line.strip():
                yield Rejected(self.malformed_reason, f"{part.path} {where}", payload=line.encode())
        for first in range(0, len(records), BATCH_ROWS):
            some = records[first : first + BATCH_ROWS]
            yield Piece(to_columns(some, self._wanted, self.text_field), sum(map(_size, some)))

    def _lines(self, part: FilePart) -> Iterator[tuple[str, str]]:
        """Yield the position and the text of each line."""
        with open_input(part.path, self.storage_options) as file:
            pieces = [piece.data for piece in lines_in_range(file, part.start, part.end)]
        lines = b"".join(pieces).decode("utf-8", "replace").split("\n")
        after = f" after byte {part.start}" if part.start else ""
        for number, line in enumerate(lines, 1):
            yield f"line {number}{after}", line.removesuffix("\r")

    def fits(self, before: Columns, piece: Columns) -> bool:
        return False  # each piece is a batch, however few bytes it has

    def folder(self, part: FilePart) -> str:
        """Return the folder of the recordings."""
        return parent_of(part.path)

    @abstractmethod
    def record(self, line: str, folder: str) -> Record | None:
        """Parse a line; return None if it is malformed."""

    @property
    def _wanted(self) -> list[str] | None:
        return None if self.fields is None else list(dict.fromkeys((PATH, *self.fields)))

    def table(self, pieces: Any) -> pa.Table:
        return to_table(pieces)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        piece = next((one for one in self.pieces(part) if isinstance(one, Piece)), None)
        return () if piece is None else tuple(piece.content.arrays)


def _size(record: Record) -> int:
    return len(str(record.get(PATH, ""))) + len(str(record.get(TEXT, "")))


@dataclass
class LibriSpeechReading(TranscriptReading):
    """Read lines such as `1-2-0003 THE TRANSCRIPT`, for the recording 1-2-0003.flac."""

    audio_ending: str = field(default=".flac", kw_only=True)
    malformed_reason: ClassVar[str] = "not a name followed by a text"

    def record(self, line: str, folder: str) -> Record | None:
        name, _, text = line.strip().partition(" ")
        speaker, *rest = name.split("-")
        if len(rest) != 2:
            return None
        path = join(folder, f"{name}{self.audio_ending}")
        return {PATH: path, TEXT: text.strip(), "speaker": speaker, "chapter": rest[0]}


@dataclass
class LibriSpeechReader(FileReader):
    """Read folders like LibriSpeech: `.trans.txt` files next to recordings.

    Recordings are named like 1-2-0003.flac. Adds `text`, `speaker` and `chapter`.
    """

    audio_ending: str = field(default=".flac", kw_only=True)
    """File extension of the recordings."""

    endings: ClassVar[tuple[str, ...]] = (".trans.txt",)
    reading = LibriSpeechReading

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(LibriSpeechReading, super().reading_stage(listing))
        stage.audio_ending = self.audio_ending
        return stage


@dataclass
class FleursReading(TranscriptReading):
    """Read tables of seven tab-separated columns; the folder of recordings has the table's name."""

    normalized: bool = field(default=False, kw_only=True)
    malformed_reason: ClassVar[str] = "fewer than six tab-separated columns"

    def folder(self, part: FilePart) -> str:
        """Return `audio/train` or `train`, in the folder of `train.tsv`."""
        above, split = parent_of(part.path), base_name(part.path).rpartition(".")[0]
        below = join(above, "audio", split)
        fs, path = open_filesystem(below, dict(self.storage_options or {}))
        return below if fs.isdir(path) else join(above, split)

    def record(self, line: str, folder: str) -> Record | None:
        columns = line.split("\t")
        if len(columns) < 6:
            return None
        number, name, raw, normal = columns[:4]
        gender = columns[6] if len(columns) > 6 else None
        samples = columns[5]
        return {
            PATH: join(folder, name),
            DURATION: int(samples) / _FLEURS_RATE if samples.isdigit() else None,
            TEXT: normal if self.normalized else raw,
            "sentence": number,
            "gender": gender,
        }


@dataclass
class FleursReader(FileReader):
    """Read folders like FLEURS: `train.tsv` next to `train` or `audio/train`.

    Adds `text`, `duration`, `gender`, and `sentence`, a number shared by all languages.
    """

    normalized: bool = field(default=False, kw_only=True)
    """Whether `text` is the normalised transcript, without capitals and punctuation."""

    endings: ClassVar[tuple[str, ...]] = (".tsv",)
    split: ClassVar[Split] = "lines"
    reading = FleursReading

    def decompose(self) -> Sequence[AnyStage]:
        return super(FleursReader, with_small_sources(self)).decompose()

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        stage = cast(FleursReading, super().reading_stage(listing))
        stage.normalized = self.normalized
        return stage
