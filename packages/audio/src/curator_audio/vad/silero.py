"""Silero's speech detector in plain torch, and its weights.

It processes all frames of many recordings together. Its convolutions see only four steps of each
frame, so each is a few matrix products here. Its spectra are plain Fourier transforms. Both are
equivalent to the original network at half the cost.
"""

import hashlib
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curator_core import CuratorError

if TYPE_CHECKING:
    import torch


PACKAGE = "silero_vad"

_FILE = Path("data", "silero_vad.jit")
"""The .safetensors file in the same folder holds different weights."""


class DetectorError(CuratorError):
    """The speech detector is missing or is a different network."""


@dataclass(frozen=True)
class DetectorWeights:
    """Tensors by the names used in the wheel, and the digest of their file."""

    tensors: "dict[str, torch.Tensor]"
    digest: str


def find_weights(path: str | None) -> Path:
    """Return the file of the weights; raise an error with the install command if it is missing."""
    if path is not None:
        found = Path(path).expanduser()
        if not found.is_file():
            raise DetectorError(f"no speech detector at {path}: give the path of silero_vad.jit")
        return found
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise DetectorError(
            "the speech detector is not installed: pip install 'curator-audio[models]', or give "
            "the path of silero_vad.jit as weights"
        )
    return Path(spec.origin).parent / _FILE


def _read_state(path: Path) -> "dict[str, torch.Tensor]":
    import torch

    with warnings.catch_warnings():  # only this format has the right weights
        warnings.simplefilter("ignore", DeprecationWarning)
        network: Any = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    state: dict[str, torch.Tensor] = network.state_dict()
    return state


def _check_spectra(basis: "torch.Tensor") -> None:
    """Raise ValueError unless the first layer is a windowed Fourier transform."""
    import torch

    window = torch.eye(basis.shape[-1]) * basis[0, 0]
    spectra = torch.fft.rfft(window).T
    if not torch.allclose(torch.cat((spectra.real, spectra.imag)), basis[:, 0], atol=1e-4):
        raise ValueError("its first layer is not the one of Silero's network")


def load_weights(path: str | None) -> DetectorWeights:
    found = find_weights(path)
    try:
        state = _read_state(found)
        tensors = {name: tensor.detach().clone() for name, tensor in state.items()}
        _check_spectra(tensors["_model.stft.forward_basis_buffer"])
    except (RuntimeError, KeyError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise DetectorError(f"{found} is not a speech detector: {reason}") from None
    return DetectorWeights(tensors, hashlib.sha256(found.read_bytes()).hexdigest()[:16])


RATE, FRAME = 16_000, 512

_CONTEXT, _WINDOW, _HOP, _WIDTH = 64, 256, 128, 128

_AT_ONCE = 128
"""Frames to encode at once: few enough to stay in the CPU cache."""

_STEPS = (FRAME + 2 * _CONTEXT - _WINDOW) // _HOP + 1
"""Spectra per frame, including the context before it and its mirrored end."""

_STRIDES = (1, 2, 2, 1)

_TAPS = 3


class SpeechDetector:
    """Compute speech probabilities per frame of 32 ms, keeping a state for each recording.

    `reset` sets the number of recordings. Each call of `probabilities` takes the next samples of
    some recordings, all of the same length in whole frames.
    """

    def __init__(self, weights: DetectorWeights, device: "torch.device | None" = None) -> None:
        import torch

        self._device = device or torch.device("cpu")
        given = {name: tensor.to(self._device) for name, tensor in weights.tensors.items()}
        self._taper = given["_model.stft.forward_basis_buffer"][0, 0]
        self._layers: list[_ConvolutionLayer] = []
        steps = _STEPS
        for number, stride in enumerate(_STRIDES):
            prefix = f"_model.encoder.{number}.reparam_conv"
            layer = _layer(given[f"{prefix}.weight"], given[f"{prefix}.bias"], steps, stride)
            self._layers.append(layer)
            steps = len(layer.steps)
        self._memory = torch.nn.LSTM(_WIDTH, _WIDTH, batch_first=True).to(self._device)
        self._memory.load_state_dict(
            {f"{name}_l0": given[f"_model.decoder.rnn.{name}"] for name in _RECURRENT}
        )
        self._last = (
            given["_model.decoder.decoder.2.weight"][0, :, 0],
            given["_model.decoder.decoder.2.bias"],
        )
        self.reset(0)

    def reset(self, recordings: int) -> None:
        """Reset all state, and make room for this many recordings."""
        import torch

        self._state = torch.zeros(2, 1, recordings, _WIDTH, device=self._device)
        self._before = torch.zeros(recordings, _CONTEXT, device=self._device)

    def probabilities(self, samples: "torch.Tensor", rows: "torch.Tensor") -> "torch.Tensor":
        """Return the probabilities of frames: (rows, samples) -> (rows, frames)."""
        import torch

        with torch.inference_mode():
            extended = torch.cat([self._before[rows], samples.to(self._device)], dim=1)
            frames = extended.unfold(1, _CONTEXT + FRAME, FRAME)
            count = frames.shape[1]
            flat = frames.reshape(-1, _CONTEXT + FRAME)
            encoded = torch.cat([self._encode(part) for part in torch.split(flat, _AT_ONCE)])
            hidden, cell = self._state[0][:, rows], self._state[1][:, rows]
            decoded, (hidden, cell) = self._memory(
                encoded.reshape(len(rows), count, _WIDTH), (hidden.contiguous(), cell.contiguous())
            )
            self._state = self._state.clone()
            self._state[0][:, rows], self._state[1][:, rows] = hidden, cell
            self._before = self._before.clone()
            self._before[rows] = extended[:, -_CONTEXT:]
            weight, bias = self._last
            return torch.sigmoid(torch.relu(decoded) @ weight + bias).cpu()

    def _encode(self, frames: "torch.Tensor") -> "torch.Tensor":
        import torch
        from torch.nn import functional

        padded = functional.pad(frames[:, None], (0, _CONTEXT), mode="reflect")[:, 0]
        spectra = torch.fft.rfft(padded.unfold(1, _WINDOW, _HOP) * self._taper)
        sound: torch.Tensor = spectra.abs().reshape(len(frames), -1)
        for layer in self._layers:
            seen = (sound[:, step.first : step.last] for step in layer.steps)
            made = [
                torch.addmm(layer.bias, part, step.weight)
                for part, step in zip(seen, layer.steps, strict=True)
            ]
            sound = torch.cat(made, dim=1).relu_()
        return sound


class _ConvolutionStep(NamedTuple):
    """Input slice and weights of one output step."""

    first: int
    last: int
    weight: "torch.Tensor"


class _ConvolutionLayer(NamedTuple):
    steps: list[_ConvolutionStep]
    bias: "torch.Tensor"


def _layer(
    weight: "torch.Tensor", bias: "torch.Tensor", steps: int, stride: int
) -> _ConvolutionLayer:
    """Convert a convolution over a few steps, zero-padded by one on either side, to matrices."""
    wide = weight.shape[1]
    made = []
    for start in range(-1, steps + 2 - _TAPS, stride):
        first, last = max(0, start), min(steps, start + _TAPS)
        taps = weight[:, :, first - start : last - start]
        matrix = taps.permute(2, 1, 0).reshape(-1, len(weight)).contiguous()
        made.append(_ConvolutionStep(first * wide, last * wide, matrix))
    return _ConvolutionLayer(made, bias)


_RECURRENT = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
