"""Voices: vectors that are similar if the same person speaks, and the stage that adds them.

Without a model they are statistics of cepstra, which are weak. If resemblyzer is installed, its
network is used in plain torch, with the weights from its wheel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import pyarrow as pa
from curator_core import WorkerInfo
from curator_models.hub import ModelError
from curator_models.weights import PackagedFile, WeightsFile, weights_digest

from curator_audio.mel_bands import mel_bands
from curator_audio.model_stage import AudioModel, AudioPiece, EvenCutter, weighted_mean
from curator_audio.quality.base import load_weights_only

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.waveform import MonoSamples

    Vector = NDArray[np.float32]


RATE = 16_000

_WINDOW, _STEP, _BANDS = 400, 160, 40

_CEPSTRA = 20

_LOUDNESS = 10 ** (-30 / 20)

_PARTIAL, _PARTIAL_STEP = 160, 80
"""Frames that the network processes at once, and from one such piece to the next."""

_WIDTH = 256


class VoiceEncoder(Protocol):
    """Computes a vector of length 1 for a sound."""

    label: str

    def vector(self, sound: "MonoSamples") -> "Vector": ...


def _energies(sound: "MonoSamples") -> "NDArray[np.float32]":
    """Return mel energies, shaped (frames, bands), with at least one frame."""
    import numpy as np
    from numpy.lib.stride_tricks import sliding_window_view

    padded = np.pad(sound, _WINDOW // 2)
    frames = sliding_window_view(padded, _WINDOW)[::_STEP] * np.hanning(_WINDOW + 1)[:-1]
    spectrum = np.abs(np.fft.rfft(frames)) ** 2
    return np.asarray(spectrum @ mel_bands(RATE, _WINDOW, _BANDS).T, np.float32)


@cache
def _cosines() -> "NDArray[np.float64]":
    import numpy as np

    angles = np.pi * (np.arange(_BANDS) + 0.5) / _BANDS
    return np.asarray(np.cos(np.outer(angles, np.arange(1, _CEPSTRA + 1))), np.float64)


class CepstralVoiceEncoder:
    """Means and deviations of the cepstra of the louder half of all frames."""

    label = "weak: cepstra"

    def vector(self, sound: "MonoSamples") -> "Vector":
        import numpy as np

        energies = _energies(sound)
        loud = energies.sum(axis=1)
        energies = energies[loud >= np.median(loud)]
        cepstra = np.log(energies + 1e-8) @ _cosines()
        statistics = np.concatenate((cepstra.mean(axis=0), cepstra.std(axis=0)))
        return _normalize(statistics)


class ResemblyzerEncoder:
    """The network of resemblyzer: three recurrent layers over pieces of 1.6 seconds."""

    def __init__(self, source: WeightsFile) -> None:
        import torch

        file = source.file()
        state: Any = load_weights_only(file)
        try:
            state = state["model_state"]
            self._memory = torch.nn.LSTM(_BANDS, _WIDTH, 3, batch_first=True)
            self._memory.load_state_dict(_without_prefix(state, "lstm."))
            self._last = torch.nn.Linear(_WIDTH, _WIDTH)
            self._last.load_state_dict(_without_prefix(state, "linear."))
        except (KeyError, TypeError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"{file} has no weights of resemblyzer: {reason}") from None
        self.label = f"weak: resemblyzer sha256:{weights_digest([file])}"

    def vector(self, sound: "MonoSamples") -> "Vector":
        import numpy as np
        import torch

        level = float(np.sqrt(np.mean(np.square(sound)))) or 1.0
        energies = _energies(sound * np.float32(_LOUDNESS / level))
        if len(energies) < _PARTIAL:
            energies = np.resize(energies, (_PARTIAL, _BANDS))
        starts = range(0, len(energies) - _PARTIAL + 1, _PARTIAL_STEP)
        pieces = np.stack([energies[start : start + _PARTIAL] for start in starts])
        with torch.inference_mode():
            _, (hidden, _) = self._memory(torch.from_numpy(pieces))
            raw = torch.relu(self._last(hidden[-1]))
            vectors = raw / raw.norm(dim=1, keepdim=True).clamp_min(1e-8)
        return _normalize(vectors.mean(dim=0).numpy())


def _without_prefix(state: Any, prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }


def _normalize(vector: "NDArray[Any]") -> "Vector":
    import numpy as np

    return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)


VoiceKind: TypeAlias = Literal["auto", "resemblyzer", "cepstra"]
"""auto: resemblyzer's network if it is installed, else statistics of cepstra."""

_WHEEL = PackagedFile("resemblyzer", "pretrained.pt")


def resemblyzer_weights(weights: str | None) -> WeightsFile:
    return WeightsFile(
        "resemblyzer", "curator-audio[speakers]", (), weights, _WHEEL, "pretrained.pt"
    )


def uses_resemblyzer(kind: VoiceKind, weights: str | None) -> bool:
    return (
        kind == "resemblyzer"
        or weights is not None
        or (kind == "auto" and _WHEEL.path() is not None)
    )


def load_voice_encoder(kind: VoiceKind, weights: str | None) -> VoiceEncoder:
    return (
        ResemblyzerEncoder(resemblyzer_weights(weights))
        if uses_resemblyzer(kind, weights)
        else CepstralVoiceEncoder()
    )


_LONGEST_PIECE, _SHORTEST_PIECE = 10.0, 0.5


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
        return uses_resemblyzer(self.voices, self.weights)

    def sources(self) -> Sequence[WeightsFile]:
        return (
            (resemblyzer_weights(self.weights),)
            if uses_resemblyzer(self.voices, self.weights)
            else ()
        )

    def column_names(self) -> Sequence[str]:
        return ("voice",)

    def load(self, worker: WorkerInfo) -> str:
        self._encoder = load_voice_encoder(self.voices, self.weights)
        return self._encoder.label

    def unload(self) -> None:
        vars(self).pop("_encoder", None)

    def cutter(self) -> EvenCutter:
        return EvenCutter(round(_LONGEST_PIECE * self.rate), round(_SHORTEST_PIECE * self.rate))

    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        return [self._encoder.vector(piece.samples) for piece in pieces]

    def combine(self, outputs: Sequence[tuple[AudioPiece, Any]]) -> Any:
        import numpy as np

        mean = weighted_mean(outputs)
        return mean / (np.linalg.norm(mean) or 1.0)

    def build_columns(self, values: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {"voice": pa.array([row.tolist() for row in values], pa.list_(pa.float32()))}
