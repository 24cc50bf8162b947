"""Batches of recordings: one row each, as in a manifest; samples are decoded on demand.

Columns with a meaning in this package:

    audio_filepath  text: path of the recording
    audio           binary: the encoded recording, if it is not a file
    offset          seconds: start of the row in the recording; only segments have it
    duration        seconds: length of the row
    text            transcript
    gain_db         decibels to amplify the row by, see LoudnessNormalizer

All other columns are kept. An `AudioBatch` is a `DocumentBatch`, so column filters work on it.
Stages that decode audio take and return `AudioBatch`:

    heard = batch.listen(SPEECH, MyListener)   # a new listener for each row
    yield heard.batch.with_columns({"snr_db": heard.values})
    yield from heard.rejected                  # rows that cannot be decoded

Rows of one file are decoded in one pass, and rows of one encoded recording share its bytes
(`repeated`). Decoded samples are cached for later stages, up to `recordings.BUDGET`. They are not
in a column, so writers never see them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from curator_core.errors import InputError, is_damage
from curator_core.io.filesystems import StorageOptions
from curator_core.model.documents import DocumentBatch
from curator_core.model.tasks import Dropped, Rejected

from curator_audio.forms import Form
from curator_audio.opening import Source, UndecodableError
from curator_audio.recordings import Recordings
from curator_audio.spans import Audience, Collecting, Listener, Span
from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    import pyarrow as pa

PATH, AUDIO, OFFSET, DURATION, TEXT = "audio_filepath", "audio", "offset", "duration", "text"
GAIN = "gain_db"

SCATTERED = "curator_audio.scattered"
"""Metadata key of the reason why segments of a recording may be in other batches."""

_RECORDINGS = "curator_audio.recordings"

T = TypeVar("T")


@dataclass(frozen=True)
class Heard(Generic[T]):
    """Rows that could be decoded with a value for each, and the rejected rows."""

    batch: "AudioBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class AudioBatch(DocumentBatch):
    """Recordings or segments of recordings, one per row."""

    @property
    def playing_ms(self) -> int:
        """Total duration of the rows that have one, in milliseconds."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if DURATION not in self.data.column_names:
            return 0
        column = self.data.column(DURATION)
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            return 0
        seconds = pc.sum(column).as_py() or 0.0
        return round(1000 * seconds) if isfinite(seconds) else 0

    def place(self, row: int) -> str:
        """Describe a row in messages: its path, and the seconds if it is a segment."""
        path = self._value(PATH, row) or f"row {row}"
        try:
            start, end = self._given_span(row)
        except UndecodableError:
            return str(path)
        return str(path) if start is None else f"{path} {start:g}-{end:g} s"

    def source(self, row: int) -> Source:
        """Return the bytes if the row has them, otherwise the path."""
        data = self._encoded(row)
        if data:
            return data
        path = self._value(PATH, row)
        if not path:
            raise UndecodableError(f"the row has neither {PATH} nor {AUDIO}")
        return str(path)

    def source_key(self, row: int) -> str:
        """Return a key that is equal for rows of the same recording only."""
        return self._recordings().key_of(self.source(row))

    def span(self, row: int) -> Span:
        """Return the part of the recording that the row covers; all of it without an offset."""
        start, end = self._given_span(row)
        gain = 10 ** ((self._number(GAIN, row) or 0.0) / 20)
        if start is None:
            return Span(gain=gain)
        if not (isfinite(start) and start >= 0 and end > start):
            raise UndecodableError(
                f"offset {start:g} and duration {end - start:g} are no part of a recording"
            )
        return Span(start, end, gain)

    def start(self, row: int) -> float:
        """Return the start of the row in its source, in seconds."""
        return self.given_offset(row) or 0.0

    def given_offset(self, row: int) -> float | None:
        return self._number(OFFSET, row)

    def given_duration(self, row: int) -> float | None:
        return self._number(DURATION, row)

    def _number(self, name: str, row: int) -> float | None:
        found = self._value(name, row)
        try:
            return None if found is None else float(found)
        except (TypeError, ValueError):
            raise UndecodableError(f"{name} is {found!r}, which is not a number") from None

    def _given_span(self, row: int) -> tuple[float | None, float]:
        start = self.given_offset(row)
        if start is None:
            return None, inf
        seconds = self.given_duration(row)
        return start, inf if seconds is None else start + seconds

    def _value(self, name: str, row: int) -> Any:
        if name not in self.data.column_names:
            return None
        return self.data.column(name)[row].as_py()

    def _encoded(self, row: int) -> bytes | None:
        import pyarrow as pa

        if AUDIO not in self.data.column_names:
            return None
        value = self.data.column(AUDIO)[row]
        if isinstance(value, pa.DictionaryScalar):
            return self._recordings().shared(value)
        data: bytes | None = value.as_py()
        return data

    def gains(self) -> list[float]:
        """Return the gain of each row in decibels."""
        return [float(self._value(GAIN, row) or 0.0) for row in range(self.num_items)]

    def refuse_scattered(self) -> None:
        """Raise if segments of a recording may be in other batches."""
        if reason := self.metadata.get(SCATTERED):
            raise InputError(f"cannot join segments: {reason}")

    # Decoding

    def listen(
        self,
        form: Form,
        listener: Callable[[], Listener[T]],
        storage_options: StorageOptions | None = None,
    ) -> Heard[T]:
        """Run a new listener on each row; rows that cannot be decoded are rejected."""
        answers: dict[int, T] = {}
        failed: dict[int, Exception] = {}
        for row, answer in self.answers(form, listener, storage_options):
            if isinstance(answer, UndecodableError):
                failed[row] = answer
            else:
                answers[row] = answer
        batch, rejected = self.without(failed)
        return Heard(batch, [answers[row] for row in sorted(answers)], rejected)

    def answers(
        self,
        form: Form,
        listener: Callable[[], Listener[T]],
        storage_options: StorageOptions | None = None,
    ) -> Iterator[tuple[int, T | UndecodableError]]:
        """Yield rows with their answers, in order of their ends; use it if answers are large."""
        yield from self.answers_of_rows(form, lambda _: listener(), storage_options)

    def answers_of_rows(
        self,
        form: Form,
        listener: Callable[[int], Listener[T]],
        storage_options: StorageOptions | None = None,
    ) -> Iterator[tuple[int, T | UndecodableError]]:
        """Like `answers`, with listeners that depend on the row."""
        failed: dict[int, UndecodableError] = {}
        found = self._by_source(failed)
        yield from failed.items()
        for source, rows in found.items():
            audience = Audience({row: (span, listener(row)) for row, span in rows.items()})
            yield from audience.follow(self._recordings().hear(source, form, storage_options))

    def waveforms(
        self, form: Form, storage_options: StorageOptions | None = None
    ) -> Heard[Waveform]:
        """Decode all samples of all rows at once; only for short rows."""
        return self.listen(form, Collecting, storage_options)

    def blocks(
        self, row: int, form: Form, storage_options: StorageOptions | None = None
    ) -> Iterator[Waveform]:
        """Yield the blocks of one row, for reading several rows at the same time."""
        position = 0
        span = self.span(row)
        for block in self._recordings().hear(self.source(row), form, storage_options):
            piece = span.piece(block, position)
            if piece.samples.shape[1]:
                yield piece
            position += block.samples.shape[1]
            if position >= span.samples(block.sample_rate)[1]:
                return

    def release(self) -> None:
        """Free all samples, if no later stage needs them."""
        self.derived.pop(_RECORDINGS, None)

    def _by_source(self, failed: dict[int, UndecodableError]) -> dict[Source, dict[int, Span]]:
        found: dict[Source, dict[int, Span]] = {}
        for row in range(self.num_items):
            try:
                found.setdefault(self.source(row), {})[row] = self.span(row)
            except UndecodableError as error:
                failed[row] = error
        return found

    def _recordings(self) -> Recordings:
        known: Recordings = self.derived.setdefault(_RECORDINGS, Recordings())
        return known

    # Deriving batches

    def without(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """Return the batch without the failed rows, and a rejection with the reason for each."""
        if not failed:
            return self, []
        rejected = [
            Rejected(str(error), self.place(row), row=row, of=self, damaged=is_damage(error))
            for row, error in sorted(failed.items())
        ]
        return self.take([row for row in range(self.num_items) if row not in failed]), rejected

    def valid_rows(self) -> tuple[Self, list[Rejected]]:
        """Return the rows with a valid source and span, and rejections for the others."""
        failed: dict[int, UndecodableError] = {}
        self._by_source(failed)
        return self.without(failed)

    def take(self, rows: Sequence[int]) -> Self:
        """Return some rows in the given order, and keep the decoded samples of their files."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (known := self.derived.get(_RECORDINGS)) is not None:
            taken.derived[_RECORDINGS] = known.only(taken.sources())
        return taken

    def repeated(self, rows: Sequence[int]) -> Self:
        """Return rows, possibly several times; repeated rows share one encoded recording."""
        import pyarrow as pa
        from curator_core.model.arrow import with_column

        table = self.data
        if AUDIO in table.column_names:
            audio = table.column(AUDIO).combine_chunks()
            if isinstance(audio, pa.BinaryArray):
                places = pa.array(range(len(audio)), pa.int32(), mask=audio.is_null())
                shared = pa.DictionaryArray.from_arrays(places, audio)
                table = with_column(table, AUDIO, shared)
        return self.with_table(table.take(pa.array(rows, pa.int64())))

    def sources(self) -> Iterator[Source]:
        """Yield the sources of all rows that have one."""
        for row in range(self.num_items):
            if self._encoded(row) or self._value(PATH, row):
                yield self.source(row)

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """Return the rows where `mask` is true, and a drop of the others, as a filter does."""
        from curator_core.model.arrow import flags_in

        flags = flags_in(mask)
        missing = flags.count(False)
        if not missing:
            return [self]
        gone = [row for row, wanted in enumerate(flags) if not wanted]
        bare = self.with_data(self.data)  # so that dropped records do not keep samples
        kept = self.take([row for row, wanted in enumerate(flags) if wanted])
        return [kept, Dropped(reason, missing, lambda: bare.take(gone))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Return the batch with columns added or replaced, and keep decoded samples."""
        from curator_core.model.arrow import with_columns

        return self.with_table(with_columns(self.data, columns))

    def with_table(self, table: "pa.Table") -> Self:
        """Return other rows of the same recordings, such as segments; keep decoded samples."""
        changed = self.with_data(table)
        if _RECORDINGS in self.derived:
            changed.derived[_RECORDINGS] = self.derived[_RECORDINGS]
        return changed
