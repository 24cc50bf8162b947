"""Base class of audio filters: score each recording and decide by its score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.errors import CuratorError, TaskTimeoutError, reason_of, user_code_location
from curator_core.io.filesystems import StorageOptions
from curator_core.model.rules import convert_score

from curator_audio.audio_batch import PATH, AudioBatch, DecodedRows
from curator_audio.row_selection import apply_drop_reasons
from curator_audio.spans import Accumulator, WaveformCollector
from curator_audio.waveform import NATIVE, Waveform


@dataclass
class AudioFilter(ProcessingStage[AudioBatch, AudioBatch], ABC):
    """Keep recordings with an acceptable score; drop the others with a reason.

    A recording that cannot be decoded is quarantined with the error; the others continue.
    """

    score_field: str | None = field(default=None, kw_only=True)
    """Column to write the value to. Not written by default."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the recordings that would be kept, and keep those that would be dropped. A recording
    without a score is dropped either way."""

    storage_options: StorageOptions | None = field(default=None, repr=False, kw_only=True)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    @property
    def score_name(self) -> str:
        """The name of the score in reports."""
        return "score"

    @property
    @abstractmethod
    def accumulator(self) -> Callable[[], Accumulator[Any]]:
        """Makes an accumulator for a recording; its result is the score, None if unknown."""

    @abstractmethod
    def keeps(self, score: Any) -> bool:
        """Return whether a recording with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why recordings are dropped, as shown in reports."""

    def reason_for(self, score: Any) -> str:
        """Return why a recording with this score is dropped, if limits have different reasons."""
        return self.reason

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        scored = score_rows(task, self.accumulator, self.storage_options)
        batch = scored.batch
        if self.score_field is not None:
            values = [convert_score(score, "double") for score in scored.values]
            batch = batch.with_columns({self.score_field: pa.array(values, pa.float64())})
        reasons = [self._drop_reason(score) for score in scored.values]
        numbers = {self.score_name: numbers_in(scored.values)}
        yield from apply_drop_reasons(batch, reasons, numbers)
        yield from scored.rejected

    def _drop_reason(self, score: Any) -> str | None:
        """Return why a recording is dropped, or None to keep it."""
        is_kept = self.keeps(score)
        if self.invert and score is not None:
            return f"not: {self.reason}" if is_kept else None
        return None if is_kept else self.reason_for(score)


class FunctionAccumulator:
    """Collect the samples of a recording and call a function of them, or keep its error."""

    def __init__(self, function: Callable[[Waveform], Any]) -> None:
        self._function = function
        self._collector = WaveformCollector()

    def add(self, block: Waveform) -> None:
        self._collector.add(block)

    def result(self) -> Any:
        import numpy as np

        try:
            result = self._function(self._collector.result())
            return result.item() if isinstance(result, np.generic) else result
        except TaskTimeoutError:  # concerns the whole call
            raise
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            return CuratorError(reason_of(error) + user_code_location(error))


def score_rows(
    batch: AudioBatch,
    accumulator: Callable[[], Accumulator[Any]],
    storage_options: StorageOptions | None,
) -> DecodedRows[Any]:
    """Score each row; reject rows that cannot be decoded, and those whose function fails."""
    decoded = batch.decode_into(NATIVE, accumulator, storage_options)
    failed: Mapping[int, Exception] = {
        row: score for row, score in enumerate(decoded.values) if isinstance(score, Exception)
    }
    scored, rejected = decoded.batch.reject_rows(failed)
    scores = [score for score in decoded.values if not isinstance(score, Exception)]
    return DecodedRows(scored, scores, [*rejected, *decoded.rejected])


def numbers_in(scores: Sequence[Any]) -> list[float | None]:
    """Return the scores that are numbers, which reports count, and None for the others."""
    return [
        score if isinstance(score, int | float) and not isinstance(score, bool) else None
        for score in scores
    ]
