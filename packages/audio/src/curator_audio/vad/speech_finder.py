"""Speech finder: find the spans of speech in each recording, many recordings at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected, WorkerInfo, attach_model
from curator_core.io.filesystems import StorageOptions

from curator_audio.audio_batch import PATH, SPEECH_COLUMN, AudioBatch
from curator_audio.container import UndecodableError
from curator_audio.model_stage import missing_torch
from curator_audio.row_selection import apply_drop_reasons
from curator_audio.vad.silero import (
    FRAME,
    RATE,
    DetectorError,
    SpeechDetector,
    find_weights,
    load_weights,
)
from curator_audio.vad.spans import SpanRules, find_speech_spans
from curator_audio.waveform import SPEECH, Waveform

if TYPE_CHECKING:
    import numpy as np


_BLOCK_SAMPLES = FRAME * 312
"""About ten seconds."""


@dataclass
class _RecordingStream:
    """A recording that is read in blocks of `_BLOCK_SAMPLES`."""

    row: int
    blocks: Iterator[Waveform]
    waiting: "np.ndarray | None" = None
    samples: int = 0
    is_read: bool = False
    outputs: "list[np.ndarray]" = field(default_factory=list)

    def next(self) -> "np.ndarray":
        import numpy as np

        held = [] if self.waiting is None else [self.waiting]
        size = sum(piece.size for piece in held)
        while size < _BLOCK_SAMPLES and not self.is_read:
            block = next(self.blocks, None)
            if block is None:
                self.is_read = True
            else:
                held.append(block.samples[0])
                size += held[-1].size
                self.samples += held[-1].size
        joined = np.concatenate(held) if held else np.zeros(0, np.float32)
        self.waiting = joined[_BLOCK_SAMPLES:]
        return joined[:_BLOCK_SAMPLES]

    @property
    def is_done(self) -> bool:
        return self.is_read and (self.waiting is None or not self.waiting.size)


@dataclass(frozen=True)
class SpeechProbabilities:
    """Probabilities of speech in a recording, one per 512 samples, and its number of samples."""

    values: "np.ndarray"
    samples: int


def detect_speech(
    detector: SpeechDetector, recordings: Sequence[tuple[int, Iterator[Waveform]]]
) -> tuple[dict[int, SpeechProbabilities], dict[int, Exception]]:
    """Return probabilities by row, for sound at 16 kHz, and errors by row."""
    streams = [_RecordingStream(row, blocks) for row, blocks in recordings]
    detector.reset(len(streams))
    failed: dict[int, Exception] = {}
    active = list(enumerate(streams))
    while active:
        blocks = _next_blocks(active, failed)
        _run_detector(detector, blocks)
        active = [(index, stream) for index, stream, _ in blocks if not stream.is_done]
    return {stream.row: _join(stream) for stream in streams if stream.row not in failed}, failed


_StreamBlock = tuple[int, _RecordingStream, "np.ndarray"]


def _next_blocks(
    active: Sequence[tuple[int, _RecordingStream]], failed: dict[int, Exception]
) -> list[_StreamBlock]:
    found: list[_StreamBlock] = []
    for index, stream in active:
        try:
            samples = stream.next()
        except UndecodableError as error:
            failed[stream.row] = type(error)(str(error))
        else:
            found.append((index, stream, samples))
    return found


def _run_detector(detector: SpeechDetector, blocks: Sequence[_StreamBlock]) -> None:
    """Run the detector on blocks in groups of equal length, padded to whole frames."""
    import numpy as np
    import torch

    by_frames: dict[int, list[_StreamBlock]] = {}
    for block in blocks:
        by_frames.setdefault(-(-block[2].size // FRAME), []).append(block)
    for frames, group in by_frames.items():
        if not frames:
            continue
        padded = [np.pad(samples, (0, frames * FRAME - samples.size)) for _, _, samples in group]
        rows = torch.tensor([index for index, _, _ in group])
        outputs = detector.probabilities(torch.from_numpy(np.stack(padded)), rows).numpy()
        for (_, stream, _), values in zip(group, outputs, strict=True):
            stream.outputs.append(values)


def _join(stream: _RecordingStream) -> SpeechProbabilities:
    import numpy as np

    values = np.concatenate(stream.outputs) if stream.outputs else np.zeros(0, np.float32)
    return SpeechProbabilities(values, stream.samples)


SHARE_COLUMN, DETECTOR_COLUMN = "speech_share", "speech_detector"

SPANS = pa.list_(pa.struct([("start", pa.float64()), ("end", pa.float64())]))

_STREAMS = 32
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
            yield f"max_speech is {self.max_speech:g}, which is too short for speech"
        if problem := missing_torch(self.name):
            yield problem
        try:
            find_weights(self.weights)
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
        loaded = load_weights(self.weights)
        self._detector = SpeechDetector(loaded)
        self._label = f"silero-vad {loaded.digest}"

    def teardown(self) -> None:
        vars(self).pop("_detector", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        found: dict[int, SpeechProbabilities] = {}
        failed: dict[int, Exception] = {}
        for first in range(0, task.num_items, _STREAMS):
            rows = range(first, min(first + _STREAMS, task.num_items))
            detected, errors = detect_speech(self._detector, list(self._open(task, rows, failed)))
            found |= detected
            failed |= errors
        for row, probabilities in list(found.items()):
            if not probabilities.samples:
                failed[row] = UndecodableError("the row has no samples")
                del found[row]
        batch, rejected = task.reject_rows(failed)
        yield from self._add_columns(batch, [found[row] for row in sorted(found)])
        yield from rejected

    def _open(
        self, task: AudioBatch, rows: Sequence[int], failed: dict[int, Exception]
    ) -> Iterator[tuple[int, Iterator[Waveform]]]:
        for row in rows:
            try:
                task.source(row), task.span(row)
            except UndecodableError as error:
                failed[row] = error
            else:
                yield row, task.blocks(row, SPEECH, self.storage_options)

    def _add_columns(
        self, batch: AudioBatch, found: Sequence[SpeechProbabilities]
    ) -> Iterator[AudioBatch | Dropped]:
        spans = [find_speech_spans(one.values.tolist(), one.samples, self._rules) for one in found]
        shares = [
            sum(end - start for start, end in spoken) / one.samples
            for spoken, one in zip(spans, found, strict=True)
        ]
        columns: dict[str, Any] = {
            SPEECH_COLUMN: pa.array([_seconds(spoken) for spoken in spans], SPANS),
            SHARE_COLUMN: pa.array(shares, pa.float64()),
            DETECTOR_COLUMN: pa.array([self._label] * len(spans), pa.string()),
        }
        labelled = batch.with_columns(columns)
        reasons = [None if spoken or self.keep_silent else self.reason for spoken in spans]
        for one in apply_drop_reasons(labelled, reasons, {SHARE_COLUMN: shares}):
            if isinstance(one, AudioBatch):
                attach_model(one, self._label)
            yield one

    @property
    def _rules(self) -> SpanRules:
        return SpanRules(
            self.threshold,
            self.min_speech,
            float("inf") if self.max_speech is None else self.max_speech,
            self.min_silence,
            self.padding,
        )


def _seconds(spans: Sequence[tuple[int, int]]) -> list[dict[str, float]]:
    return [{"start": start / RATE, "end": end / RATE} for start, end in spans]
