"""Engines of diarization: clustering of voices, and wrappers of models."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from curator_core.model.optional_dependencies import not_installed
from curator_models.locating import ModelError

from curator_audio.speakers.clustering import clusters
from curator_audio.speakers.turns import Turn
from curator_audio.speakers.voices import RATE, Voices

if TYPE_CHECKING:
    from curator_audio.cutting import Sound
    from curator_audio.speakers.voices import Vector

Backend: TypeAlias = Literal["weak", "pyannote", "sortformer"]
"""weak: cluster the voices of spans of speech, without a diarization model."""

_NEEDS = {"pyannote": ("pyannote.audio", "pip install pyannote.audio"),
          "sortformer": ("nemo", "pip install 'nemo_toolkit[asr]'")}  # fmt: skip

_PIECE = 1.5
"""Seconds of speech per voice vector."""


class Engine(Protocol):
    """A diarization model that processes whole rows."""

    @property
    def label(self) -> str:
        """Name of the model."""

    def turns(self, sound: "Sound") -> list[Turn]:
        """Return the turns in one channel at 16 kHz."""


def uninstalled(backend: Backend) -> str | None:
    """Return a message with the install command if the backend is not installed."""
    if backend not in _NEEDS:
        return None
    module, command = _NEEDS[backend]
    return not_installed(f"telling speakers with {backend}", [module], command)


@dataclass(frozen=True)
class Voice:
    """Voice vector of the sound from `start` to `end`."""

    start: float
    end: float
    vector: "Vector"
    weight: int


@dataclass
class WeakEngine:
    """Cluster the voices of pieces of the spans, which are processed one by one."""

    voices: Voices
    threshold: float
    most: int

    @property
    def label(self) -> str:
        return self.voices.label

    def heard(self, sound: "Sound", start: float, end: float) -> Voice | None:
        """Return the voice of a piece, or None if it is shorter than 0.1 s."""
        if len(sound) < RATE // 10:
            return None
        return Voice(start, end, self.voices.vector(sound), len(sound))

    def turns(self, heard: Iterable[Voice]) -> list[Turn]:
        import numpy as np

        known = sorted(heard, key=lambda one: (one.start, one.end))
        if not known:
            return []
        vectors = np.stack([one.vector for one in known])
        weights = np.array([one.weight for one in known], np.float64)
        numbers = clusters(vectors, weights, self.threshold, self.most)
        return [
            Turn(one.start, one.end, f"speaker_{number}")
            for one, number in zip(known, numbers, strict=True)
        ]


def pieces(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Cut spans of speech into pieces so short that each likely has one speaker."""
    for start, end in spans:
        if end <= start:
            continue
        count = max(1, round((end - start) / _PIECE))
        length = (end - start) / count
        for number in range(count):
            yield start + number * length, start + (number + 1) * length


class PyannoteEngine:
    """A pyannote.audio pipeline: its folder or config.yaml, or its name on Hugging Face."""

    def __init__(self, model: str, device: str, token: str | None) -> None:
        import torch
        from pyannote.audio import Pipeline

        try:
            pipeline = Pipeline.from_pretrained(model, **({"token": token} if token else {}))
        except (OSError, ValueError, RuntimeError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"pyannote cannot load {model}: {told}") from error
        if pipeline is None:
            raise ModelError(
                f"pyannote has no access to {model}: accept its licence at Hugging Face, and name "
                "the environment variable of your token in token_variable"
            )
        self._pipeline: Any = pipeline.to(torch.device(device))
        self.label = f"pyannote {model}"

    def turns(self, sound: "Sound") -> list[Turn]:
        import torch

        told = self._pipeline({"waveform": torch.from_numpy(sound)[None], "sample_rate": RATE})
        found = getattr(told, "speaker_diarization", told)
        return [
            Turn(float(segment.start), float(segment.end), str(speaker))
            for segment, _, speaker in found.itertracks(yield_label=True)
        ]


class SortformerEngine:
    """NVIDIA's Sortformer through NeMo: a .nemo file, or a name on Hugging Face."""

    def __init__(self, model: str, device: str) -> None:
        from nemo.collections.asr.models import SortformerEncLabelModel

        path = Path(model).expanduser()
        try:
            if path.is_file():
                loaded = SortformerEncLabelModel.restore_from(str(path), map_location=device)
            else:
                loaded = SortformerEncLabelModel.from_pretrained(model, map_location=device)
        except (OSError, ValueError, RuntimeError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"NeMo cannot load {model}: {told}") from error
        self._model: Any = loaded.eval()
        self.label = f"sortformer {path.stem if path.is_file() else model}"

    def turns(self, sound: "Sound") -> list[Turn]:
        """Parse the turns of NeMo: lines of `start end speaker`, in seconds."""
        (found,) = self._model.diarize(audio=[sound], sample_rate=RATE, batch_size=1, verbose=False)
        parts = [str(line).split() for line in found]
        return [Turn(float(start), float(end), speaker) for start, end, speaker in parts]
