"""Batches of recordings: one row each, as in a manifest; samples only while somebody listens.

Columns that mean something to this package:

    audio_filepath  text: where the recording lies
    audio           binary: the encoded recording itself, where it did not come as a file
    offset          seconds: where in it the row begins; the row is a segment if this is there
    duration        seconds: how long it is
    text            what is said in it
    gain_db         decibels by which it is heard louder, see LoudnessNormalizer

Everything else is carried along. An `AudioBatch` is a `DocumentBatch`, so filters of columns work
on it. Stages that listen take and give `AudioBatch`, and write

    heard = batch.listen(SPEECH, MyListener)   # a new listener for each row
    yield heard.batch.with_columns({"snr_db": heard.values})
    yield from heard.rejected                  # what cannot be decoded, set aside alone

Rows of one file are heard in one go, whatever their number, and rows of one encoded recording share
its bytes (`repeated`). What was decoded is kept for the stages
behind, up to `recordings.BUDGET`; it stands in no column, so no writer can meet it.
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
"""In the metadata of a batch: why segments of its recordings may be in other batches, too."""

_RECORDINGS = "curator_audio.recordings"

T = TypeVar("T")


@dataclass(frozen=True)
class Heard(Generic[T]):
    """The rows that could be heard, an answer for each, and the others."""

    batch: "AudioBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class AudioBatch(DocumentBatch):
    """Recordings or segments of them, one row each."""

    @property
    def playing_ms(self) -> int:
        """Of the rows that say how long they are."""
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
        """A row for messages: its file, and the seconds where it is a segment."""
        path = self._value(PATH, row) or f"row {row}"
        try:
            start, end = self._given_span(row)
        except UndecodableError:
            return str(path)
        return str(path) if start is None else f"{path} {start:g}-{end:g} s"

    def source(self, row: int) -> Source:
        """The bytes where the row has them, otherwise the path."""
        data = self._encoded(row)
        if data:
            return data
        path = self._value(PATH, row)
        if not path:
            raise UndecodableError(f"the row has neither {PATH} nor {AUDIO}")
        return str(path)

    def source_key(self, row: int) -> str:
        """What rows of one recording have in common, and those of others have not."""
        return self._recordings().key_of(self.source(row))

    def span(self, row: int) -> Span:
        """The part of the recording that the row is; all of it where it has no offset."""
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
        """The second of the source where the row begins."""
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
        """Decibels by which each row is heard louder."""
        return [float(self._value(GAIN, row) or 0.0) for row in range(self.num_items)]

    def refuse_scattered(self) -> None:
        """Raise where segments of one recording may be in several batches, of which this is one."""
        if reason := self.metadata.get(SCATTERED):
            raise InputError(f"cannot join segments: {reason}")

    # Listening

    def listen(
        self,
        form: Form,
        listener: Callable[[], Listener[T]],
        storage_options: StorageOptions | None = None,
    ) -> Heard[T]:
        """What a listener of its own says of each row; rows that cannot be heard are set aside."""
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
        """Rows as they have been heard, in the order of their ends, for answers that are large."""
        yield from self.answers_of_rows(form, lambda _: listener(), storage_options)

    def answers_of_rows(
        self,
        form: Form,
        listener: Callable[[int], Listener[T]],
        storage_options: StorageOptions | None = None,
    ) -> Iterator[tuple[int, T | UndecodableError]]:
        """The same, with listeners that know which row they are to hear."""
        failed: dict[int, UndecodableError] = {}
        found = self._by_source(failed)
        yield from failed.items()
        for source, rows in found.items():
            audience = Audience({row: (span, listener(row)) for row, span in rows.items()})
            yield from audience.follow(self._recordings().hear(source, form, storage_options))

    def waveforms(
        self, form: Form, storage_options: StorageOptions | None = None
    ) -> Heard[Waveform]:
        """All samples of all rows at once: for rows that are known to be short."""
        return self.listen(form, Collecting, storage_options)

    def blocks(
        self, row: int, form: Form, storage_options: StorageOptions | None = None
    ) -> Iterator[Waveform]:
        """One row bit by bit, for those who listen to several at the same time."""
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
        """Forget all samples, for a stage behind which nobody listens."""
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

    # Other rows, other columns

    def without(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """The batch without some rows, and notes that set each of these aside with its reason."""
        if not failed:
            return self, []
        rejected = [
            Rejected(str(error), self.place(row), row=row, of=self, damaged=is_damage(error))
            for row, error in sorted(failed.items())
        ]
        return self.take([row for row in range(self.num_items) if row not in failed]), rejected

    def valid_rows(self) -> tuple[Self, list[Rejected]]:
        """The rows that name a recording and a part of it, and notes that set aside the others."""
        failed: dict[int, UndecodableError] = {}
        self._by_source(failed)
        return self.without(failed)

    def take(self, rows: Sequence[int]) -> Self:
        """Some rows in an order of your own, with what was decoded of their files."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (known := self.derived.get(_RECORDINGS)) is not None:
            taken.derived[_RECORDINGS] = known.only(taken.sources())
        return taken

    def repeated(self, rows: Sequence[int]) -> Self:
        """Rows, many of them several times: an encoded recording is there once for all of these."""
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
        """What the rows are heard from, without those that have nothing."""
        for row in range(self.num_items):
            if self._encoded(row) or self._value(PATH, row):
                yield self.source(row)

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """The rows where `mask` is true, and a note of the others: what a filter returns."""
        from curator_core.model.arrow import flags_in

        flags = flags_in(mask)
        missing = flags.count(False)
        if not missing:
            return [self]
        gone = [row for row, wanted in enumerate(flags) if not wanted]
        bare = self.with_data(self.data)  # whoever keeps dropped records keeps no samples
        kept = self.take([row for row, wanted in enumerate(flags) if wanted])
        return [kept, Dropped(reason, missing, lambda: bare.take(gone))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Columns added or replaced, row by row, with what was decoded."""
        from curator_core.model.arrow import with_columns

        return self.with_table(with_columns(self.data, columns))

    def with_table(self, table: "pa.Table") -> Self:
        """Other rows of the same recordings, such as segments, with what was decoded."""
        changed = self.with_data(table)
        if _RECORDINGS in self.derived:
            changed.derived[_RECORDINGS] = self.derived[_RECORDINGS]
        return changed
