"""Speaker diarization: add who speaks when to each row."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pyarrow as pa
from curator_core import ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions
from curator_models.devices import limit_threads

from curator_audio.audio_batch import AUDIO, DURATION, GAIN, OFFSET, PATH, SPEECH_COLUMN, AudioBatch
from curator_audio.container import UndecodableError
from curator_audio.model_stage import missing_torch
from curator_audio.spans import WaveformCollector
from curator_audio.speakers.clustering import ClusteringDiarizer, VoiceVector, cut_spans
from curator_audio.speakers.diarization_models import (
    DiarizationBackend,
    DiarizationModel,
    PyannoteModel,
    SortformerModel,
    missing_backend,
)
from curator_audio.speakers.turns import (
    OVERLAP_COLUMN,
    SPEAKERS_COLUMN,
    TURNS_COLUMN,
    SpeakerTurn,
    merge_turns,
    turn_columns,
)
from curator_audio.speakers.voices import (
    VoiceKind,
    load_voice_encoder,
    resemblyzer_weights,
    uses_resemblyzer,
)
from curator_audio.timed_entries import read_entries
from curator_audio.waveform import SPEECH

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

    backend: DiarizationBackend = "weak"
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
        known = get_args(DiarizationBackend)
        if self.backend not in known:
            yield f"backend is {self.backend!r}{hint(self.backend, known)}"
        else:
            yield from self._not_installed()
            if self.backend != "weak" and not self.model:
                yield f"model is not given; {self.backend} needs a path, or a name on Hugging Face"
        if self.max_speakers < 1:
            yield f"max_speakers is {self.max_speakers}, but must be 1 or more"
        if self.token_variable is not None and self.token_variable not in os.environ:
            yield (
                f"token_variable is {self.token_variable!r}, but that environment variable is not "
                "set"
            )

    def _not_installed(self) -> Iterator[str]:
        if problem := missing_backend(self.backend):
            yield problem
        if self.backend == "weak" and uses_resemblyzer(self.voices, None):
            if problem := missing_torch(self.name):
                yield problem
            yield from resemblyzer_weights(None).problems()

    def untrusted_code(self) -> Iterator[str]:
        if self.backend != "weak":
            yield f"models of {self.backend} may run code that comes with them"

    def inputs(self) -> Sequence[str]:
        return (PATH, self.spans_field) if self.backend == "weak" else (PATH,)

    def outputs(self) -> Sequence[str]:
        return (TURNS_COLUMN, SPEAKERS_COLUMN, OVERLAP_COLUMN, DIARIZATION)

    def setup(self, worker: WorkerInfo) -> None:
        if self.backend != "weak" or uses_resemblyzer(self.voices, None):
            limit_threads(worker)
        self._model = self._load_model()

    def _load_model(self) -> DiarizationModel | ClusteringDiarizer:
        if self.backend == "pyannote":
            token = os.environ.get(self.token_variable) if self.token_variable else None
            return PyannoteModel(str(self.model), self.device, token)
        if self.backend == "sortformer":
            return SortformerModel(str(self.model), self.device)
        fitting = _THRESHOLDS[uses_resemblyzer(self.voices, None)]
        threshold = fitting if self.threshold is None else self.threshold
        return ClusteringDiarizer(
            load_voice_encoder(self.voices, None), threshold, self.max_speakers
        )

    def teardown(self) -> None:
        vars(self).pop("_model", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        spans: list[list[tuple[float, float]]] = [[]] * task.num_items
        if self.backend == "weak":
            read = read_entries(task, self.spans_field)
            yield from read.rejected
            task = read.batch
            spans = [[(one["start"], one["end"]) for one in row] for row in read.values]
        found: dict[int, list[SpeakerTurn]] = {}
        failed: dict[int, Exception] = {}
        for row, turns in self._turns(task, spans):
            if isinstance(turns, UndecodableError):
                failed[row] = turns
            else:
                found[row] = merge_turns(turns, self.join_gap)
        batch, rejected = task.reject_rows(failed)
        rows = [found[row] for row in sorted(found)]
        label = pa.array([self._model.label] * len(rows), pa.string())
        yield batch.with_columns({**turn_columns(rows), DIARIZATION: label})
        yield from rejected

    def _turns(
        self, task: AudioBatch, spans: Sequence[Sequence[tuple[float, float]]]
    ) -> Iterator[tuple[int, list[SpeakerTurn] | UndecodableError]]:
        model = self._model
        if isinstance(model, ClusteringDiarizer):
            yield from self._cluster_turns(model, task, spans)
            return
        for row, wave in task.iter_decoded(
            SPEECH, lambda _: WaveformCollector(), self.storage_options
        ):
            if isinstance(wave, UndecodableError):
                yield row, wave
            else:
                yield row, model.turns(wave.samples[0])

    def _cluster_turns(
        self,
        model: ClusteringDiarizer,
        task: AudioBatch,
        spans: Sequence[Sequence[tuple[float, float]]],
    ) -> Iterator[tuple[int, list[SpeakerTurn] | UndecodableError]]:
        """Keep only the voice of each piece, so that memory does not grow with the recordings."""
        pieces = [(row, *piece) for row, some in enumerate(spans) for piece in cut_spans(some)]
        voices: list[list[VoiceVector]] = [[] for _ in spans]
        failed: dict[int, UndecodableError] = {}
        decoded = _segments(task, pieces).iter_decoded(
            SPEECH, lambda _: WaveformCollector(), self.storage_options
        )
        for number, wave in decoded:
            row, start, end = pieces[number]
            if isinstance(wave, UndecodableError):
                failed.setdefault(row, wave)
            elif (voice := model.voice_of(wave.samples[0], start, end)) is not None:
                voices[row].append(voice)
        for row, known in enumerate(voices):
            yield row, failed.get(row) or model.turns(known)


def _segments(task: AudioBatch, pieces: Sequence[tuple[int, float, float]]) -> AudioBatch:
    """Return a row for each piece, with the recording of the batch row that it refers to."""
    names = [name for name in (PATH, AUDIO, GAIN) if name in task.data.column_names]
    rows = [row for row, _, _ in pieces]
    starts = [task.start(row) + start for row, start, _ in pieces]
    bare = task.with_table(task.data.select(names)).repeat_rows(rows)
    lengths = [end - start for _, start, end in pieces]
    return bare.with_columns(
        {OFFSET: pa.array(starts, pa.float64()), DURATION: pa.array(lengths, pa.float64())}
    )
