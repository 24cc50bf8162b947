"""Speech detector in plain torch: processes all frames of many recordings together.

Its convolutions see only four steps of each frame, so each is a few matrix products here. Its
spectra are plain Fourier transforms. Both are equivalent to the original network at half the cost.
"""

from typing import TYPE_CHECKING, NamedTuple

from curator_audio.speech.weights import DetectorWeights

if TYPE_CHECKING:
    import torch

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

    `begin` sets the number of recordings. Each call of `hear` takes the next stretch of some
    recordings, all of the same length in whole frames.
    """

    def __init__(self, weights: DetectorWeights, device: "torch.device | None" = None) -> None:
        import torch

        self._device = device or torch.device("cpu")
        given = {name: tensor.to(self._device) for name, tensor in weights.tensors.items()}
        self._taper = given["_model.stft.forward_basis_buffer"][0, 0]
        self._layers: list[_Layer] = []
        steps = _STEPS
        for number, stride in enumerate(_STRIDES):
            place = f"_model.encoder.{number}.reparam_conv"
            layer = _layer(given[f"{place}.weight"], given[f"{place}.bias"], steps, stride)
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
        self.begin(0)

    def begin(self, recordings: int) -> None:
        """Reset all state, and make room for this many recordings."""
        import torch

        self._state = torch.zeros(2, 1, recordings, _WIDTH, device=self._device)
        self._before = torch.zeros(recordings, _CONTEXT, device=self._device)

    def hear(self, samples: "torch.Tensor", rows: "torch.Tensor") -> "torch.Tensor":
        """Return the probabilities of stretches: (rows, samples) -> (rows, frames)."""
        import torch

        with torch.inference_mode():
            stretch = torch.cat([self._before[rows], samples.to(self._device)], dim=1)
            frames = stretch.unfold(1, _CONTEXT + FRAME, FRAME)
            count = frames.shape[1]
            flat = frames.reshape(-1, _CONTEXT + FRAME)
            heard = torch.cat([self._encoded(part) for part in torch.split(flat, _AT_ONCE)])
            hidden, cell = self._state[0][:, rows], self._state[1][:, rows]
            told, (hidden, cell) = self._memory(
                heard.reshape(len(rows), count, _WIDTH), (hidden.contiguous(), cell.contiguous())
            )
            self._state = self._state.clone()
            self._state[0][:, rows], self._state[1][:, rows] = hidden, cell
            self._before = self._before.clone()
            self._before[rows] = stretch[:, -_CONTEXT:]
            weight, bias = self._last
            return torch.sigmoid(torch.relu(told) @ weight + bias).cpu()

    def _encoded(self, frames: "torch.Tensor") -> "torch.Tensor":
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


class _Step(NamedTuple):
    """The slice of the input that one output step sees, and its weights."""

    first: int
    last: int
    weight: "torch.Tensor"


class _Layer(NamedTuple):
    steps: list[_Step]
    bias: "torch.Tensor"


def _layer(weight: "torch.Tensor", bias: "torch.Tensor", steps: int, stride: int) -> _Layer:
    """Convert a convolution over a few steps, zero-padded by one on either side, to matrices."""
    wide = weight.shape[1]
    made = []
    for start in range(-1, steps + 2 - _TAPS, stride):
        first, last = max(0, start), min(steps, start + _TAPS)
        taps = weight[:, :, first - start : last - start]
        matrix = taps.permute(2, 1, 0).reshape(-1, len(weight)).contiguous()
        made.append(_Step(first * wide, last * wide, matrix))
    return _Layer(made, bias)


_RECURRENT = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
