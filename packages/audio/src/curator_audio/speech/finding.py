"""Speech detection: find the spans of speech in each recording."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected, WorkerInfo
from curator_core.io.filesystems import StorageOptions
from curator_core.model.provenance import tell_model

from curator_audio.batches import PATH, AudioBatch
from curator_audio.forms import SPEECH
from curator_audio.opening import UndecodableError
from curator_audio.settling import settled
from curator_audio.speech.detectors import RATE
from curator_audio.speech.listening import Probabilities, probabilities
from curator_audio.speech.segmenting import Rules, spans_of_speech
from curator_audio.speech.weights import DetectorError, load, locate
from curator_audio.torch_extra import torch_problem
from curator_audio.waveforms import Waveform

SPEECH_COLUMN, SHARE_COLUMN, DETECTOR_COLUMN = "speech", "speech_share", "speech_detector"
SPANS = pa.list_(pa.struct([("start", pa.float64()), ("end", pa.float64())]))

_TOGETHER = 32
"""Recordings to process at the same time; each has an open file and up to a minute in memory."""


@dataclass
class SpeechFinder(ProcessingStage[AudioBatch, AudioBatch]):
    """Add `speech`, the spans of speech in seconds, found by Silero's detector.

    Also adds `speech_share`, and `speech_detector`, which identifies the weights. Times are
    relative to the start of the row. Rows without speech are dropped unless `keep_silent` is set.
    """

    threshold: float = 0.5
    """Probability at which speech begins; it ends 0.15 lower."""

    min_speech: float = 0.25
    """Minimum length of speech, in seconds; shorter spans are ignored."""

    max_speech: float | None = None
    """Maximum length of a span, in seconds; longer ones are cut at the longest pause. Unlimited by
    default.
    """

    min_silence: float = 0.1
    """Minimum length of a pause, in seconds; shorter ones are part of the speech."""

    padding: float = 0.03
    """Seconds of surrounding sound to include before and after each span."""

    keep_silent: bool = False
    """Whether to keep recordings without speech, with no spans."""

    weights: str | None = None
    """Path of a silero_vad.jit to use instead of the one from the installed wheel."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    reason: ClassVar[str] = "no speech"

    def check(self) -> Iterator[str]:
        if not 0 < self.threshold < 1:
            yield f"threshold is {self.threshold:g}, but must be between 0 and 1"
        for name in ("min_speech", "min_silence", "padding"):
            if getattr(self, name) < 0:
                yield f"{name} is {getattr(self, name):g}, but must be 0 or more"
        shortest = 2 * self.padding + 0.1
        if self.max_speech is not None and self.max_speech < max(shortest, self.min_speech):
            yield f"max_speech is {self.max_speech:g}, which is too short to be speech"
        if problem := torch_problem(self.name):
            yield problem
        try:
            locate(self.weights)
        except DetectorError as error:
            yield str(error)

    def untrusted_code(self) -> Iterator[str]:
        if self.weights is not None:
            yield "weights are TorchScript, which is a program"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (SPEECH_COLUMN, SHARE_COLUMN, DETECTOR_COLUMN)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_audio.speech.detectors import SpeechDetector

        loaded = load(self.weights)
        self._detector: SpeechDetector = SpeechDetector(loaded)
        self._label = f"silero-vad {loaded.digest}"

    def teardown(self) -> None:
        vars(self).pop("_detector", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        found: dict[int, Probabilities] = {}
        failed: dict[int, Exception] = {}
        for first in range(0, task.num_items, _TOGETHER):
            rows = range(first, min(first + _TOGETHER, task.num_items))
            heard, wrong = probabilities(self._detector, list(self._opened(task, rows, failed)))
            found |= heard
            failed |= wrong
        for row, told in list(found.items()):
            if not told.samples:
                failed[row] = UndecodableError("the row holds no samples")
                del found[row]
        batch, rejected = task.without(failed)
        yield from self._told(batch, [found[row] for row in sorted(found)])
        yield from rejected

    def _opened(
        self, task: AudioBatch, rows: Sequence[int], failed: dict[int, Exception]
    ) -> Iterator[tuple[int, Iterator[Waveform]]]:
        for row in rows:
            try:
                task.source(row), task.span(row)
            except UndecodableError as error:
                failed[row] = error
            else:
                yield row, task.blocks(row, SPEECH, self.storage_options)

    def _told(
        self, batch: AudioBatch, found: Sequence[Probabilities]
    ) -> Iterator[AudioBatch | Dropped]:
        spans = [spans_of_speech(one.values.tolist(), one.samples, self._rules) for one in found]
        shares = [
            sum(end - start for start, end in spoken) / one.samples
            for spoken, one in zip(spans, found, strict=True)
        ]
        columns: dict[str, Any] = {
            SPEECH_COLUMN: pa.array([_seconds(spoken) for spoken in spans], SPANS),
            SHARE_COLUMN: pa.array(shares, pa.float64()),
            DETECTOR_COLUMN: pa.array([self._label] * len(spans), pa.string()),
        }
        known = batch.with_columns(columns)
        faults = [None if spoken or self.keep_silent else self.reason for spoken in spans]
        for one in settled(known, faults, {SHARE_COLUMN: shares}):
            if isinstance(one, AudioBatch):
                tell_model(one, self._label)
            yield one

    @property
    def _rules(self) -> Rules:
        return Rules(
            self.threshold,
            self.min_speech,
            float("inf") if self.max_speech is None else self.max_speech,
            self.min_silence,
            self.padding,
        )


def _seconds(spans: Sequence[tuple[int, int]]) -> list[dict[str, float]]:
    return [{"start": start / RATE, "end": end / RATE} for start, end in spans]
