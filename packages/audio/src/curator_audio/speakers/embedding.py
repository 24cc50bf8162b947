"""Embedding: a voice vector for each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import WorkerInfo
from curator_models.weights import WeightsFile

from curator_audio.cutting import EvenCut, Piece, weighted_mean
from curator_audio.inferring import AudioModel
from curator_audio.speakers.sources import VoiceKind, is_learned, learned, voices

_LONGEST, _SHORTEST = 10.0, 0.5


@dataclass(kw_only=True)
class SpeakerEmbedder(AudioModel):
    """Add `voice`, a vector of length 1 that is similar in rows of one speaker.

    The bundled voices are weak: good enough to group recordings roughly, not to verify a speaker.
    """

    voices: VoiceKind = "auto"
    """resemblyzer (extra `speakers`) or cepstra. With auto, resemblyzer if it is installed."""

    weights: str | None = None
    """Replacement for the pretrained.pt of resemblyzer."""

    def needs_torch(self) -> bool:
        return is_learned(self.voices, self.weights)

    def sources(self) -> Sequence[WeightsFile]:
        return (learned(self.weights),) if is_learned(self.voices, self.weights) else ()

    def columns(self) -> Sequence[str]:
        return ("voice",)

    def load(self, worker: WorkerInfo) -> str:
        self._voices = voices(self.voices, self.weights)
        return self._voices.label

    def unload(self) -> None:
        vars(self).pop("_voices", None)

    def cut(self) -> EvenCut:
        return EvenCut(round(_LONGEST * self.rate), round(_SHORTEST * self.rate))

    def ask(self, pieces: Sequence[Piece]) -> Sequence[Any]:
        return [self._voices.vector(piece.samples) for piece in pieces]

    def amount(self, answers: Sequence[tuple[Piece, Any]]) -> Any:
        import numpy as np

        mean = weighted_mean(answers)
        return mean / (np.linalg.norm(mean) or 1.0)

    def described(self, amounts: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {"voice": pa.array([row.tolist() for row in amounts], pa.list_(pa.float32()))}
