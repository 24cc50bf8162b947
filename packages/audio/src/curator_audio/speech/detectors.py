"""The detector of speech as plain torch: all frames of many recordings go through it together."""

from typing import TYPE_CHECKING

from curator_audio.speech.weights import DetectorWeights

if TYPE_CHECKING:
    import torch

RATE, FRAME = 16_000, 512
_CONTEXT, _BINS, _HOP, _WIDTH = 64, 129, 128, 128
_AT_ONCE = 4096
"""Frames that go through the convolutions together, so that memory is bounded."""

_STRIDES = (1, 2, 2, 1)


class SpeechDetector:
    """Probabilities of speech, a frame of 32 ms each. Keeps the state of each recording it hears.

    `begin` says how many recordings there are; `hear` then takes a stretch of each, all of one
    length in whole frames, and goes on where the last one ended.
    """

    def __init__(self, weights: DetectorWeights, device: "torch.device | None" = None) -> None:
        import torch

        self._device = device or torch.device("cpu")
        given = {name: tensor.to(self._device) for name, tensor in weights.tensors.items()}
        self._basis = given["_model.stft.forward_basis_buffer"]
        self._layers = [
            (
                given[f"_model.encoder.{n}.reparam_conv.weight"],
                given[f"_model.encoder.{n}.reparam_conv.bias"],
                stride,
            )
            for n, stride in enumerate(_STRIDES)
        ]
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
        """Forget all, and make room for so many recordings."""
        import torch

        self._state = torch.zeros(2, 1, recordings, _WIDTH, device=self._device)
        self._before = torch.zeros(recordings, _CONTEXT, device=self._device)

    def hear(self, samples: "torch.Tensor", rows: "torch.Tensor") -> "torch.Tensor":
        """Probabilities for stretches, (rows, samples) -> (rows, frames), of some recordings."""
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
        from torch.nn import functional

        padded = functional.pad(frames[:, None], (0, _CONTEXT), mode="reflect")
        bins = functional.conv1d(padded, self._basis, stride=_HOP)
        sound = (bins[:, :_BINS].square() + bins[:, _BINS:].square()).sqrt()
        for weight, bias, stride in self._layers:
            sound = functional.conv1d(sound, weight, bias, stride=stride, padding=1).relu()
        return sound.squeeze(-1)


_RECURRENT = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
