"""Audio batches: a recording or segment per row, as in a manifest; samples are decoded on demand.

Columns with a meaning in this package:

    audio_filepath  text: path of the recording
    audio           binary: the encoded recording, if it is not a file
    offset          seconds: start of the row in the recording; only segments have it
    duration        seconds: length of the row
    text            transcript
    gain_db         decibels to amplify the row by, see LoudnessNormalizer
    speech          spans of speech, see SpeechFinder
    pred_text       transcript by a model, see SpeechRecognizer
    source_filepath, source_offset
                    where an encoded row came from
    parts           places in the source of concatenated segments, see SegmentConcatenator

All other columns are kept. An `AudioBatch` is a `DocumentBatch`, so column filters work on it.
Stages that decode audio take and return `AudioBatch`:

    decoded = batch.decode_into(SPEECH, MyAccumulator)  # a new accumulator for each row
    yield decoded.batch.with_columns({"snr_db": decoded.values})
    yield from decoded.rejected                         # rows that cannot be decoded

Rows of one file are decoded in one pass, and rows of one encoded recording share its bytes
(`repeat_rows`). Decoded samples are cached for later stages, up to `decoded_cache.BUDGET`. They are
not in a column, so writers never see them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from curator_core import DocumentBatch, Dropped, Rejected
from curator_core.errors import InputError, is_damaged_input
from curator_core.io.filesystems import StorageOptions

from curator_audio.container import AudioSource, UndecodableError
from curator_audio.decoded_cache import DecodedCache
from curator_audio.decoding import describe_header
from curator_audio.spans import Accumulator, AudioSpan, SpanFeeder, WaveformCollector
from curator_audio.waveform import AudioFormat, Waveform

if TYPE_CHECKING:
    import pyarrow as pa


PATH, AUDIO, OFFSET, DURATION, TEXT = "audio_filepath", "audio", "offset", "duration", "text"
GAIN = "gain_db"
SPEECH_COLUMN, PREDICTED_TEXT = "speech", "pred_text"
SOURCE, SOURCE_OFFSET, PARTS = "source_filepath", "source_offset", "parts"

SCATTERED = "curator_audio.scattered"
"""Metadata key of the reason why segments of a recording may be in other batches."""

_CACHE = "curator_audio.decoded_cache"

T = TypeVar("T")


@dataclass(frozen=True)
class DecodedRows(Generic[T]):
    """Rows that could be decoded with a value for each, and the rejected rows."""

    batch: "AudioBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class AudioBatch(DocumentBatch):
    """Recordings or segments of recordings, one per row."""

    item_name = "recording"

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

    def describe_items(self) -> list[dict[str, Any]]:
        """Return the columns, with what the header of each recording says beside them."""
        kept = [name for name in self.data.column_names if name != AUDIO]
        rows = self.data.select(kept).to_pylist()
        return [{**self._header(row), **facts} for row, facts in enumerate(rows)]

    def _header(self, row: int) -> dict[str, Any]:
        try:
            facts = describe_header(self.source(row))
        except UndecodableError as error:
            facts = {"problem": str(error)}
        if self._value(OFFSET, row) is not None:  # the header describes all of the recording
            facts = {name: value for name, value in facts.items() if name != DURATION}
        return facts

    def describe_row(self, row: int) -> str:
        """Describe a row in messages: its path, and the seconds if it is a segment."""
        path = self._value(PATH, row) or f"row {row}"
        try:
            start, end = self._span_seconds(row)
        except UndecodableError:
            return str(path)
        return str(path) if start is None else f"{path} {start:g}-{end:g} s"

    def source(self, row: int) -> AudioSource:
        """Return the bytes if the row has them, otherwise the path."""
        data = self._encode_row(row)
        if data:
            return data
        path = self._value(PATH, row)
        if not path:
            raise UndecodableError(f"the row has neither {PATH} nor {AUDIO}")
        return str(path)

    def source_key(self, row: int) -> str:
        """Return a key that only rows of the same recording share."""
        return self._cache().source_key(self.source(row))

    def span(self, row: int) -> AudioSpan:
        """Return the part of the recording that the row covers; all of it without an offset."""
        start, end = self._span_seconds(row)
        gain = 10 ** ((self._number(GAIN, row) or 0.0) / 20)
        if start is None:
            return AudioSpan(gain=gain)
        if not (isfinite(start) and start >= 0 and end > start):
            raise UndecodableError(
                f"offset {start:g} and duration {end - start:g} are not a part of a recording"
            )
        return AudioSpan(start, end, gain)

    def start(self, row: int) -> float:
        """Return the start of the row in its source, in seconds."""
        return self.offset(row) or 0.0

    def offset(self, row: int) -> float | None:
        return self._number(OFFSET, row)

    def duration(self, row: int) -> float | None:
        return self._number(DURATION, row)

    def _number(self, name: str, row: int) -> float | None:
        found = self._value(name, row)
        try:
            return None if found is None else float(found)
        except (TypeError, ValueError):
            raise UndecodableError(f"{name} is {found!r}, which is not a number") from None

    def _span_seconds(self, row: int) -> tuple[float | None, float]:
        start = self.offset(row)
        if start is None:
            return None, inf
        seconds = self.duration(row)
        return start, inf if seconds is None else start + seconds

    def _value(self, name: str, row: int) -> Any:
        if name not in self.data.column_names:
            return None
        return self.data.column(name)[row].as_py()

    def _encode_row(self, row: int) -> bytes | None:
        import pyarrow as pa

        if AUDIO not in self.data.column_names:
            return None
        value = self.data.column(AUDIO)[row]
        if isinstance(value, pa.DictionaryScalar):
            return self._cache().dictionary_bytes(value)
        data: bytes | None = value.as_py()
        return data

    def gains(self) -> list[float]:
        """Return the gain of each row in decibels."""
        return [float(self._value(GAIN, row) or 0.0) for row in range(self.num_items)]

    def check_not_scattered(self) -> None:
        """Raise if segments of a recording may be in other batches."""
        if reason := self.metadata.get(SCATTERED):
            raise InputError(f"cannot join segments: {reason}")

    # Decoding

    def decode_into(
        self,
        audio_format: AudioFormat,
        accumulator: Callable[[], Accumulator[T]],
        storage_options: StorageOptions | None = None,
    ) -> DecodedRows[T]:
        """Decode each row into a new accumulator; reject rows that cannot be decoded."""
        results: dict[int, T] = {}
        failed: dict[int, Exception] = {}
        for row, result in self.iter_decoded(
            audio_format, lambda _: accumulator(), storage_options
        ):
            if isinstance(result, UndecodableError):
                failed[row] = result
            else:
                results[row] = result
        batch, rejected = self.reject_rows(failed)
        return DecodedRows(batch, [results[row] for row in sorted(results)], rejected)

    def iter_decoded(
        self,
        audio_format: AudioFormat,
        accumulator: Callable[[int], Accumulator[T]],
        storage_options: StorageOptions | None = None,
    ) -> Iterator[tuple[int, T | UndecodableError]]:
        """Yield rows with their results, in order of their ends; use it if results are large.

        `accumulator` is called with the number of each row.
        """
        failed: dict[int, UndecodableError] = {}
        found = self._by_source(failed)
        yield from failed.items()
        for source, rows in found.items():
            feeder = SpanFeeder({row: (span, accumulator(row)) for row, span in rows.items()})
            yield from feeder.feed(self._cache().read(source, audio_format, storage_options))

    def waveforms(
        self, audio_format: AudioFormat, storage_options: StorageOptions | None = None
    ) -> DecodedRows[Waveform]:
        """Decode all samples of all rows at once; only for short rows."""
        return self.decode_into(audio_format, WaveformCollector, storage_options)

    def blocks(
        self, row: int, audio_format: AudioFormat, storage_options: StorageOptions | None = None
    ) -> Iterator[Waveform]:
        """Yield the blocks of one row, for reading several rows at the same time."""
        position = 0
        span = self.span(row)
        for block in self._cache().read(self.source(row), audio_format, storage_options):
            part = span.cut(block, position)
            if part.samples.shape[1]:
                yield part
            position += block.samples.shape[1]
            if position >= span.samples(block.sample_rate)[1]:
                return

    def release(self) -> None:
        """Free all samples, if no later stage needs them."""
        self.derived.pop(_CACHE, None)

    def _by_source(
        self, failed: dict[int, UndecodableError]
    ) -> dict[AudioSource, dict[int, AudioSpan]]:
        found: dict[AudioSource, dict[int, AudioSpan]] = {}
        for row in range(self.num_items):
            try:
                found.setdefault(self.source(row), {})[row] = self.span(row)
            except UndecodableError as error:
                failed[row] = error
        return found

    def _cache(self) -> DecodedCache:
        cache: DecodedCache = self.derived.setdefault(_CACHE, DecodedCache())
        return cache

    # Deriving batches

    def reject_rows(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """Return the batch without the failed rows, and a rejection with the reason for each."""
        if not failed:
            return self, []
        rejected = [
            Rejected(
                str(error),
                self.describe_row(row),
                row=row,
                of=self,
                damaged=is_damaged_input(error),
            )
            for row, error in sorted(failed.items())
        ]
        return self.take([row for row in range(self.num_items) if row not in failed]), rejected

    def reject_invalid_rows(self) -> tuple[Self, list[Rejected]]:
        """Return the rows with a valid source and span, and rejections for the others."""
        failed: dict[int, UndecodableError] = {}
        self._by_source(failed)
        return self.reject_rows(failed)

    def take(self, rows: Sequence[int]) -> Self:
        """Return some rows in the given order, and keep the decoded samples of their files."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (cache := self.derived.get(_CACHE)) is not None:
            taken.derived[_CACHE] = cache.subset(taken.sources())
        return taken

    def repeat_rows(self, rows: Sequence[int]) -> Self:
        """Return rows, possibly several times; repeated rows share one encoded recording."""
        import pyarrow as pa
        from curator_core.model.arrow import with_column

        table = self.data
        if AUDIO in table.column_names:
            audio = table.column(AUDIO).combine_chunks()
            if isinstance(audio, pa.BinaryArray):
                indices = pa.array(range(len(audio)), pa.int32(), mask=audio.is_null())
                shared = pa.DictionaryArray.from_arrays(indices, audio)
                table = with_column(table, AUDIO, shared)
        return self.with_table(table.take(pa.array(rows, pa.int64())))

    def sources(self) -> Iterator[AudioSource]:
        """Yield the sources of all rows that have one."""
        for row in range(self.num_items):
            if self._encode_row(row) or self._value(PATH, row):
                yield self.source(row)

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """Return the rows where `mask` is true, and a drop of the others, as a filter does."""
        from curator_core.model.arrow import mask_to_list

        flags = mask_to_list(mask)
        dropped = [row for row, is_kept in enumerate(flags) if not is_kept]
        if not dropped:
            return [self]
        bare = self.with_data(self.data)  # so that dropped records do not keep samples
        kept = self.take([row for row, is_kept in enumerate(flags) if is_kept])
        return [kept, Dropped(reason, len(dropped), lambda: bare.take(dropped))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Return the batch with columns added or replaced, and keep decoded samples."""
        from curator_core.model.arrow import with_columns

        return self.with_table(with_columns(self.data, columns))

    def with_table(self, table: "pa.Table") -> Self:
        """Return other rows of the same recordings, such as segments; keep decoded samples."""
        changed = self.with_data(table)
        if _CACHE in self.derived:
            changed.derived[_CACHE] = self.derived[_CACHE]
        return changed
