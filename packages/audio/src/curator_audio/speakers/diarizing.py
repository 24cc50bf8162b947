"""Diarization: who speaks when, in each row."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pyarrow as pa
from curator_core import ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions
from curator_models.devices import keep_to_cores

from curator_audio.batches import AUDIO, DURATION, GAIN, OFFSET, PATH, AudioBatch
from curator_audio.entries import entries_in
from curator_audio.forms import SPEECH
from curator_audio.opening import UndecodableError
from curator_audio.spans import Collecting
from curator_audio.speakers import engines
from curator_audio.speakers.sources import VoiceKind, is_learned, learned, voices
from curator_audio.speakers.turns import (
    OVERLAP_COLUMN,
    SPEAKERS_COLUMN,
    TURNS_COLUMN,
    Turn,
    joined,
    told,
)
from curator_audio.speech.finding import SPEECH_COLUMN
from curator_audio.torch_extra import torch_problem

DIARIZATION = "diarization"

_THRESHOLDS = {True: 0.65, False: 0.95}
"""Cosine from which on two voices are one speaker, for resemblyzer (True) and cepstra (False)."""


@dataclass
class SpeakerDiarizer(ProcessingStage[AudioBatch, AudioBatch]):
    """Add `turns` (start, end, speaker), `num_speakers` and `speaker_overlap`.

    `weak` clusters the voices in the spans from SpeechFinder. It cannot detect overlapping speech
    and is often wrong; `diarization` is marked `weak` then. pyannote and sortformer use diarization
    models.
    """

    backend: engines.Backend = "weak"
    """weak, pyannote or sortformer."""

    model: str | None = None
    """For pyannote and sortformer: a path, or a name on Hugging Face."""

    voices: VoiceKind = "auto"
    """For weak: resemblyzer or cepstra. With auto, resemblyzer if it is installed."""

    threshold: float | None = None
    """For weak: cosine from which on voices are one speaker. The default depends on the voices."""

    max_speakers: int = 8
    """For weak: maximum number of speakers in a row."""

    join_gap: float = 0.5
    """Longest pause within a turn, in seconds."""

    device: str = "cpu"
    """cpu or cuda, for pyannote and sortformer."""

    token_variable: str | None = None
    """Environment variable with a token for Hugging Face."""

    spans_field: str = SPEECH_COLUMN
    """For weak: column with spans of speech."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        known = get_args(engines.Backend)
        if self.backend not in known:
            yield f"backend is {self.backend!r}{hint(self.backend, known)}"
        else:
            yield from self._not_installed()
            if self.backend != "weak" and not self.model:
                yield f"model is not given; {self.backend} needs a path, or a name at Hugging Face"
        if self.max_speakers < 1:
            yield f"max_speakers is {self.max_speakers}, but must be 1 or more"
        if self.token_variable is not None and self.token_variable not in os.environ:
            yield (
                f"token_variable is {self.token_variable!r}, but no such environment variable is "
                "set"
            )

    def _not_installed(self) -> Iterator[str]:
        if problem := engines.uninstalled(self.backend):
            yield problem
        if self.backend == "weak" and is_learned(self.voices, None):
            if problem := torch_problem(self.name):
                yield problem
            yield from learned(None).problems()

    def untrusted_code(self) -> Iterator[str]:
        if self.backend != "weak":
            yield f"models of {self.backend} may run code that comes with them"

    def inputs(self) -> Sequence[str]:
        return (PATH, self.spans_field) if self.backend == "weak" else (PATH,)

    def outputs(self) -> Sequence[str]:
        return (TURNS_COLUMN, SPEAKERS_COLUMN, OVERLAP_COLUMN, DIARIZATION)

    def setup(self, worker: WorkerInfo) -> None:
        if self.backend != "weak" or is_learned(self.voices, None):
            keep_to_cores(worker)
        self._engine = self._made()

    def _made(self) -> engines.Engine | engines.WeakEngine:
        if self.backend == "pyannote":
            token = os.environ.get(self.token_variable) if self.token_variable else None
            return engines.PyannoteEngine(str(self.model), self.device, token)
        if self.backend == "sortformer":
            return engines.SortformerEngine(str(self.model), self.device)
        fitting = _THRESHOLDS[is_learned(self.voices, None)]
        threshold = fitting if self.threshold is None else self.threshold
        return engines.WeakEngine(voices(self.voices, None), threshold, self.max_speakers)

    def teardown(self) -> None:
        vars(self).pop("_engine", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        spans: list[list[tuple[float, float]]] = [[]] * task.num_items
        if self.backend == "weak":
            read = entries_in(task, self.spans_field)
            yield from read.rejected
            task = read.batch
            spans = [[(one["start"], one["end"]) for one in row] for row in read.values]
        found: dict[int, list[Turn]] = {}
        failed: dict[int, Exception] = {}
        for row, turns in self._turns(task, spans):
            if isinstance(turns, UndecodableError):
                failed[row] = turns
            else:
                found[row] = joined(turns, self.join_gap)
        batch, rejected = task.without(failed)
        rows = [found[row] for row in sorted(found)]
        label = pa.array([self._engine.label] * len(rows), pa.string())
        yield batch.with_columns({**told(rows), DIARIZATION: label})
        yield from rejected

    def _turns(
        self, task: AudioBatch, spans: Sequence[Sequence[tuple[float, float]]]
    ) -> Iterator[tuple[int, list[Turn] | UndecodableError]]:
        engine = self._engine
        if isinstance(engine, engines.WeakEngine):
            yield from self._clustered(engine, task, spans)
            return
        for row, wave in task.answers(SPEECH, Collecting, self.storage_options):
            if isinstance(wave, UndecodableError):
                yield row, wave
            else:
                yield row, engine.turns(wave.samples[0])

    def _clustered(
        self,
        engine: engines.WeakEngine,
        task: AudioBatch,
        spans: Sequence[Sequence[tuple[float, float]]],
    ) -> Iterator[tuple[int, list[Turn] | UndecodableError]]:
        """Keep only the voice of each piece, so that memory does not grow with the recordings."""
        places = [(row, *piece) for row, some in enumerate(spans) for piece in engines.pieces(some)]
        voices: list[list[engines.Voice]] = [[] for _ in spans]
        failed: dict[int, UndecodableError] = {}
        heard = _segments(task, places).answers(SPEECH, Collecting, self.storage_options)
        for number, wave in heard:
            row, start, end = places[number]
            if isinstance(wave, UndecodableError):
                failed.setdefault(row, wave)
            elif (voice := engine.heard(wave.samples[0], start, end)) is not None:
                voices[row].append(voice)
        for row, known in enumerate(voices):
            yield row, failed.get(row) or engine.turns(known)


def _segments(task: AudioBatch, places: Sequence[tuple[int, float, float]]) -> AudioBatch:
    """Return a row for each place, with the recording of the batch row that it refers to."""
    wanted = [name for name in (PATH, AUDIO, GAIN) if name in task.data.column_names]
    rows = [row for row, _, _ in places]
    starts = [task.start(row) + start for row, start, _ in places]
    bare = task.with_table(task.data.select(wanted)).repeated(rows)
    lengths = [end - start for _, start, end in places]
    return bare.with_columns(
        {OFFSET: pa.array(starts, pa.float64()), DURATION: pa.array(lengths, pa.float64())}
    )
