"""Engine for Whisper models that uses OpenAI's library."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_core import WorkerInfo
from curator_models.devices import keep_to_cores
from curator_models.digests import digest_of
from curator_models.locating import ModelError

from curator_audio.transcripts.engines.recognitions import Recognition, Wishes, Word
from curator_audio.transcripts.engines.sources import Found

if TYPE_CHECKING:
    from curator_audio.cutting import Sound


@dataclass
class OpenAIWhisper:
    """Transcribe recordings of any length, in windows of thirty seconds."""

    found: Found
    wishes: Wishes

    def setup(self, worker: WorkerInfo) -> str:
        import torch

        _refuse_pickles(self.found)
        import whisper

        keep_to_cores(worker)
        wanted = self.wishes.device
        device = wanted if wanted != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._model: Any = whisper.load_model(self.found.place, device=device)
        except (RuntimeError, OSError, KeyError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"whisper cannot load {self.found.place}: {told}") from error
        self._half = device != "cpu" and self.wishes.compute_type != "float32"
        path = Path(self.found.place)
        name = f"whisper {path.stem}"
        return f"{name} sha256:{digest_of([path])}" if path.is_file() else name

    def hear(self, sound: "Sound") -> Recognition:
        told = self._model.transcribe(
            sound,
            language=self.wishes.language,
            beam_size=self.wishes.beam_size if self.wishes.beam_size > 1 else None,
            condition_on_previous_text=False,
            word_timestamps=self.wishes.words,
            fp16=self._half,
            verbose=None,
        )
        words = [
            Word(word["word"].strip(), float(word["start"]), float(word["end"]))
            for segment in told["segments"]
            for word in segment.get("words", ())
        ]
        return Recognition(told["text"].strip(), told["language"], words)


def _refuse_pickles(found: Found) -> None:
    """Raise unless the file loads weights-only, because the library would load any pickle."""
    import torch

    if not Path(found.place).is_file():
        return
    try:
        torch.load(found.place, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # noqa: BLE001 - invalid files raise any error
        told = str(error).strip().partition("\n")[0]
        raise ModelError(f"{found.place} is not read: {told}") from None
