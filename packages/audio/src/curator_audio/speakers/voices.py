"""Voices: vectors that are close to each other if the same person speaks.

Without a model they are statistics of cepstra, which are weak. If resemblyzer is installed, its
network is used in plain torch, with the weights from its wheel.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from curator_models.digests import digest_of
from curator_models.locating import ModelError
from curator_models.weights import WeightsFile

from curator_audio.mels import mel_bands
from curator_audio.quality.networks import weights_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.cutting import Sound

    Vector = NDArray[np.float32]

RATE = 16_000
_WINDOW, _STEP, _BANDS = 400, 160, 40
_CEPSTRA = 20
_LOUDNESS = 10 ** (-30 / 20)
_PARTIAL, _APART = 160, 80
"""Frames that the network processes at once, and from one such piece to the next."""

_WIDTH = 256


class Voices(Protocol):
    """Computes a vector of length 1 for a sound."""

    label: str

    def vector(self, sound: "Sound") -> "Vector": ...


def _energies(sound: "Sound") -> "NDArray[np.float32]":
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

    places = np.pi * (np.arange(_BANDS) + 0.5) / _BANDS
    return np.asarray(np.cos(np.outer(places, np.arange(1, _CEPSTRA + 1))), np.float64)


class CepstralVoices:
    """Means and deviations of the cepstra of the louder half of all frames."""

    label = "weak: cepstra"

    def vector(self, sound: "Sound") -> "Vector":
        import numpy as np

        energies = _energies(sound)
        loud = energies.sum(axis=1)
        energies = energies[loud >= np.median(loud)]
        cepstra = np.log(energies + 1e-8) @ _cosines()
        told = np.concatenate((cepstra.mean(axis=0), cepstra.std(axis=0)))
        return _unit(told)


class LearnedVoices:
    """The network of resemblyzer: three recurrent layers over pieces of 1.6 seconds."""

    def __init__(self, source: WeightsFile) -> None:
        import torch

        file = source.file()
        state: Any = weights_of(file)
        try:
            state = state["model_state"]
            self._memory = torch.nn.LSTM(_BANDS, _WIDTH, 3, batch_first=True)
            self._memory.load_state_dict(_below(state, "lstm."))
            self._last = torch.nn.Linear(_WIDTH, _WIDTH)
            self._last.load_state_dict(_below(state, "linear."))
        except (KeyError, TypeError, RuntimeError) as error:
            told = str(error).strip().partition("\n")[0]
            raise ModelError(f"{file} holds no voices of resemblyzer: {told}") from None
        self.label = f"weak: resemblyzer sha256:{digest_of([file])}"

    def vector(self, sound: "Sound") -> "Vector":
        import numpy as np
        import torch

        level = float(np.sqrt(np.mean(np.square(sound)))) or 1.0
        energies = _energies(sound * np.float32(_LOUDNESS / level))
        if len(energies) < _PARTIAL:
            energies = np.resize(energies, (_PARTIAL, _BANDS))
        starts = range(0, len(energies) - _PARTIAL + 1, _APART)
        pieces = np.stack([energies[start : start + _PARTIAL] for start in starts])
        with torch.inference_mode():
            _, (hidden, _) = self._memory(torch.from_numpy(pieces))
            raw = torch.relu(self._last(hidden[-1]))
            vectors = raw / raw.norm(dim=1, keepdim=True).clamp_min(1e-8)
        return _unit(vectors.mean(dim=0).numpy())


def _below(state: Any, prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }


def _unit(vector: "NDArray[Any]") -> "Vector":
    import numpy as np

    return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)
