"""Recognizing: speech becomes text, with models of Whisper through faster-whisper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_core import CuratorError, ProcessingStage, Rejected, WorkerInfo
from curator_core.filesystems import StorageOptions

from curator_audio.batches import PATH, AudioBatch
from curator_audio.forms import SPEECH
from curator_audio.transcripts.filters import HEARD
from curator_audio.waveforms import Waveform

WORDS = pa.list_(pa.struct([("word", pa.string()), ("start", pa.float64()), ("end", pa.float64())]))

_LACKING = (
    "recognizing speech needs faster-whisper, which is not installed: "
    "pip install 'curator-audio[asr]'"
)


@dataclass
class SpeechRecognizer(ProcessingStage[AudioBatch, AudioBatch]):
    """Adds `pred_text`, what a Whisper model hears, its `language`, and when each word is said.

    Times count from where the row begins; TimestampMapper makes them those of the source.
    """

    model: str
    """The folder of a model for faster-whisper (model.bin and config.json), or its name at Hugging
    Face, such as base.en."""

    language: str | None = None
    """The language that is spoken; found out for each row unless given."""

    words: bool = False
    """Whether to add `words`, with start and end of each."""

    compute_type: str = "int8"
    """How the model reckons: int8, float16, float32."""

    device: str = "cpu"
    """cpu, cuda or auto."""

    beam_size: int = 1
    """How many beginnings of a sentence are followed at the same time."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if not find_spec("faster_whisper"):
            yield _LACKING
        folder = Path(self.model).expanduser()
        if folder.is_dir() and not (folder / "model.bin").is_file():
            yield f"model {self.model!r} is a folder without model.bin, so none of faster-whisper"
        if self.beam_size < 1:
            yield f"beam_size is {self.beam_size}, but must be 1 or more"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (HEARD, "language", *(("words",) if self.words else ()))

    def setup(self, worker: WorkerInfo) -> None:
        try:
            from faster_whisper import WhisperModel
        except ImportError:
            raise CuratorError(_LACKING) from None
        self._model: Any = WhisperModel(
            str(Path(self.model).expanduser())
            if Path(self.model).expanduser().is_dir()
            else self.model,
            device=self.device,
            compute_type=self.compute_type,
        )

    def teardown(self) -> None:
        vars(self).pop("_model", None)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        heard = task.waveforms(SPEECH, self.storage_options)
        told = [self._transcribed(wave) for wave in heard.values]
        columns: dict[str, Any] = {
            HEARD: pa.array([text for text, _, _ in told], pa.string()),
            "language": pa.array([language for _, language, _ in told], pa.string()),
        }
        if self.words:
            columns["words"] = pa.array([words for _, _, words in told], WORDS)
        yield heard.batch.with_columns(columns)
        yield from heard.rejected

    def _transcribed(self, wave: Waveform) -> tuple[str, str, list[dict[str, Any]]]:
        segments, facts = self._model.transcribe(
            wave.samples[0],
            language=self.language,
            beam_size=self.beam_size,
            condition_on_previous_text=False,  # else one mistake goes on and on
            word_timestamps=self.words,
        )
        found = list(segments)
        words = [
            {"word": word.word.strip(), "start": float(word.start), "end": float(word.end)}
            for segment in found
            for word in (segment.words or ())
        ]
        return "".join(segment.text for segment in found).strip(), facts.language, words
