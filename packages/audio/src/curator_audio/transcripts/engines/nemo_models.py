"""Engine for models of NVIDIA's NeMo, such as Parakeet and Canary."""

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
class NemoModel:
    """Transcribe arrays of samples; a model is a .nemo file, or a name on Hugging Face."""

    found: Found
    wishes: Wishes

    def setup(self, worker: WorkerInfo) -> str:
        from nemo.collections.asr.models import ASRModel

        keep_to_cores(worker)
        path = Path(self.found.place).expanduser()
        device = None if self.wishes.device == "auto" else self.wishes.device
        try:
            if path.is_file():
                self._model: Any = ASRModel.restore_from(str(path), map_location=device)
            else:
                self._model = ASRModel.from_pretrained(self.found.place, map_location=device)
        except (RuntimeError, OSError, ValueError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"NeMo cannot load {self.found.place}: {told}") from error
        self._model.eval()
        name = f"nemo {path.stem if path.is_file() else self.found.place}"
        return f"{name} sha256:{digest_of([path])}" if path.is_file() else name

    def hear(self, sound: "Sound") -> Recognition:
        found = self._model.transcribe(
            [sound], batch_size=1, timestamps=self.wishes.words or None, verbose=False
        )
        first = found[0] if not isinstance(found, tuple) else found[0][0]
        if isinstance(first, str):
            return Recognition(first.strip(), self.wishes.language)
        stamps = getattr(first, "timestamp", None) or {}
        words = [
            Word(word["word"], float(word["start"]), float(word["end"]))
            for word in (stamps.get("word", ()) if isinstance(stamps, dict) else ())
        ]
        return Recognition(first.text.strip(), self.wishes.language, words)
