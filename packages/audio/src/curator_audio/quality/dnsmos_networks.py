"""The two networks of DNSMOS in plain torch, and the windows that they score.

A window is 9.01 seconds long, and one begins at every second. Shorter recordings are repeated until
they are long enough. Overlapping windows stay together in one piece, so that shared work is done
once.

The larger network passes frames of 20 ms through 3x3 convolutions. Four of these come before the
first pooling and make up nearly all of the work. Windows begin a second apart, so their frames and
poolings coincide. They differ only at the edges of a window, where the network sees zeros instead
of neighbouring frames. Those few frames are computed again for each window.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from curator_models.hub import ModelError

from curator_audio.mel_bands import mel_bands
from curator_audio.model_stage import AudioPiece, make_piece

if TYPE_CHECKING:
    import torch

    from curator_audio.quality.onnx_tensors import Numbers
    from curator_audio.waveform import MonoSamples


RATE = 16_000

WINDOW = 144_160

HOP = RATE

_WINDOWS_PER_PIECE = 16
"""Windows per piece, which is then 24 seconds long."""

_LOOK_AHEAD = 9
"""A window begins at each second that is followed by this many whole seconds."""


def counted_windows(piece: AudioPiece) -> list[int]:
    """Return the windows of a piece whose scores count.

    The reference implementation takes the samples up to `int((second + 9.01) * 16000)`. For some
    seconds, such as 7 to 23, rounding makes that one sample too few, and it skips the window. We
    skip the same windows so that scores agree.
    """
    first = piece.start // HOP
    windows = range((piece.length - WINDOW) // HOP + 1)
    return [n for n in windows if int((first + n + 9.01) * RATE) - (first + n) * HOP == WINDOW]


class DnsmosCutter:
    """Cut one recording into pieces of overlapping windows."""

    def __init__(self) -> None:
        self._position = 0

    def next_pieces(self, held: "MonoSamples") -> tuple[list[AudioPiece], "MonoSamples"]:
        pieces = []
        while len(held) >= (_WINDOWS_PER_PIECE + _LOOK_AHEAD) * HOP:
            pieces.append(_piece(held, _WINDOWS_PER_PIECE, self._position))
            held = held[_WINDOWS_PER_PIECE * HOP :]
            self._position += _WINDOWS_PER_PIECE * HOP
        return pieces, held

    def last_pieces(self, held: "MonoSamples") -> list[AudioPiece]:
        import numpy as np

        if self._position and len(held) < (_LOOK_AHEAD + 1) * HOP:
            return []
        while len(held) < WINDOW:
            held = np.concatenate((held, held))
        count = max(1, len(held) // HOP - _LOOK_AHEAD)
        return [
            _piece(held[n * HOP :], min(_WINDOWS_PER_PIECE, count - n), self._position + n * HOP)
            for n in range(0, count, _WINDOWS_PER_PIECE)
        ]


def _piece(held: "MonoSamples", windows: int, start: int) -> AudioPiece:
    piece = make_piece(held[: WINDOW + (windows - 1) * HOP], start)
    return replace(piece, weight=len(counted_windows(piece)))


_FRAME_STEP = 160
"""Samples from one frame to the next."""

_FRAMES = 900
"""Frames per window."""

_PER_HOP = HOP // _FRAME_STEP

_REACH = 4
"""Frames to either side that the convolutions before the first pooling see."""

_EDGE = 2 * _REACH
"""Frames at an edge of a window that determine its first, or last, `_REACH` outputs."""

_CHUNK = 100
"""Frames to convolve at once: few enough to stay in the CPU cache."""

_CHUNKS_ON_GPU = 64

_CURVES = {
    False: ((-0.08397278, 1.22083953, 0.0052439), (-0.13166888, 1.60915514, -0.39604546),
            (-0.06766283, 1.11546468, 0.04602535)),
    True: ((-0.01019296, 0.02751166, 1.19576786, -0.24348726),
           (-0.04976499, 0.44276479, -0.1644611, 0.96883132),
           (-0.00533021, 0.005101, 1.18058466, -0.11236046)),
}  # fmt: skip
"""Polynomials that map the raw outputs to listener scores for sig, bak and ovrl."""

_MELS, _MEL_WINDOW = 120, 321


class _Layers:
    """The weights of a network, in the layout that its layers need."""

    def __init__(self, given: "Numbers", device: "torch.device") -> None:
        import torch

        self._given = {
            name: torch.from_numpy(value.copy()).to(device) for name, value in given.items()
        }

    def convolution(self, name: str) -> "tuple[torch.Tensor, torch.Tensor]":
        import torch

        weight = self._weights(f"{name}/kernel:0").to(memory_format=torch.channels_last)
        return weight, self._weights(f"{name}/bias:0")

    def dense(self, name: str) -> "tuple[torch.Tensor, torch.Tensor]":
        name_template = f"{name}/%s/ReadVariableOp/resource:0"
        return self._weights(name_template % "MatMul").T.contiguous(), self._weights(
            name_template % "BiasAdd"
        )

    def tensor(self, name: str) -> "torch.Tensor":
        return self._weights(name)

    def _weights(self, name: str) -> "torch.Tensor":
        if name not in self._given:
            raise ModelError(f"not a network of DNSMOS: {name} is missing")
        return self._given[name]


class SignalNetwork:
    """Score the speech (sig), its background (bak), and the whole (ovrl)."""

    def __init__(self, given: "Numbers", device: "torch.device", *, personalized: bool) -> None:
        import torch

        layers = _Layers(given, device)
        self._device = device
        self._bases = [
            layers.tensor(f"time2freq/stft-{part}/kernel:0")[:, :, 0].T.contiguous()
            for part in ("real", "imag")
        ]
        self._costly = [layers.convolution(f"conv2d{n}") for n in ("", "_1", "_2", "_3")]
        self._cheap = [layers.convolution(f"conv2d_{n}") for n in (4, 5, 6)]
        names = ("dense", "dense_1", "dense_3")
        self._dense = [layers.dense(f"mos_estimator_logpow/{name}") for name in names]
        self._curves = torch.tensor(_CURVES[personalized], dtype=torch.float64)

    def __call__(self, sound: "torch.Tensor", windows: Sequence[int]) -> "torch.Tensor":
        """Return scores, shaped (windows, 3); a window is given by the second it begins at."""
        import torch
        from torch.nn import functional

        pooled = torch.stack(list(self._windows(_spectrum(sound, self._bases), windows)))
        for number, (weight, bias) in enumerate(self._cheap):
            pooled = functional.conv2d(pooled, weight, bias, padding=1).relu()
            if number + 1 < len(self._cheap):
                pooled = functional.max_pool2d(pooled, 2)
        raw = _apply_dense(pooled.amax(dim=(2, 3)), self._dense).double().cpu()
        mapped = torch.zeros_like(raw)
        for factor in self._curves.T:
            mapped = mapped * raw + factor
        return mapped

    def _windows(self, frames: "torch.Tensor", windows: Sequence[int]) -> "Iterator[torch.Tensor]":
        import torch

        shared = torch.cat(list(self._inner(frames)), dim=1)
        starts = [number * _PER_HOP for number in windows]
        lefts = self._pool([frames[start : start + _EDGE] for start in starts])
        ends = [start + _FRAMES for start in starts]
        rights = self._pool([frames[end - _EDGE : end] for end in ends])
        half = _REACH // 2
        for start, left, right in zip(starts, lefts, rights, strict=True):
            inside = shared[:, start // 2 : (start + _FRAMES) // 2 - 2 * half]
            yield torch.cat((left[:, :half], inside, right[:, half:]), dim=1)

    def _inner(self, frames: "torch.Tensor") -> "Iterator[torch.Tensor]":
        """Yield the pooled frames of a whole piece, without `_REACH` frames at either end."""
        starts = range(0, len(frames) - 2 * _REACH, _CHUNK)
        chunks = [frames[start : start + _CHUNK + 2 * _REACH] for start in starts]
        at_once = 1 if self._device.type == "cpu" else _CHUNKS_ON_GPU
        whole = [chunk for chunk in chunks if len(chunk) == _CHUNK + 2 * _REACH]
        half = _REACH // 2
        for first in range(0, len(whole), at_once):
            for pooled in self._pool(whole[first : first + at_once]):
                yield pooled[:, half:-half]
        if len(whole) < len(chunks):
            yield self._pool(chunks[-1:])[0][:, half:-half]

    def _pool(self, pieces: "Sequence[torch.Tensor]") -> "torch.Tensor":
        """Run the costly layers on pieces of equal length."""
        import torch
        from torch.nn import functional

        found = torch.stack(list(pieces))[:, None].to(memory_format=torch.channels_last)
        for weight, bias in self._costly:
            found = functional.conv2d(found, weight, bias, padding=1).relu_()
        return functional.max_pool2d(found, 2)


class OpinionNetwork:
    """Estimate the mean opinion score of ITU-T P.808 from mel bands, with a frame per 10 ms."""

    def __init__(self, given: "Numbers", device: "torch.device") -> None:
        import torch

        layers = _Layers(given, device)
        self._convolutions = [layers.convolution(f"conv2d_{n}") for n in (5, 6, 7, 8, 9)]
        names = ("dense_3", "dense_4", "dense_5")
        self._dense = [layers.dense(f"mos_estimator_small_1/{name}") for name in names]
        self._bands = torch.from_numpy(mel_bands(RATE, _MEL_WINDOW, _MELS)).T.to(device)
        self._taper = torch.hann_window(_MEL_WINDOW, periodic=True, device=device)

    def __call__(self, sound: "torch.Tensor", windows: Sequence[int]) -> "torch.Tensor":
        """Return scores, shaped (windows, 1); a window is given by the second it begins at."""
        import torch
        from torch.nn import functional

        found = torch.stack([_levels(mels) for mels in self._mels(sound, windows)])[:, None]
        for number, (weight, bias) in enumerate(self._convolutions):
            found = functional.conv2d(found, weight, bias, padding=1).relu()
            if number in (0, 1, 3):
                found = functional.max_pool2d(found, 2)
        return _apply_dense(found.amax(dim=(2, 3)), self._dense).double().cpu()

    def _mels(self, sound: "torch.Tensor", windows: Sequence[int]) -> "Iterator[torch.Tensor]":
        """Yield the mel bands of each window; its first and last frame are zero-padded."""
        import torch
        from torch.nn import functional

        padded = functional.pad(sound, (_FRAME_STEP, _FRAME_STEP))
        shared = self._power(padded.unfold(0, _MEL_WINDOW, _FRAME_STEP))
        for number in windows:
            own = sound[number * HOP : number * HOP + WINDOW - _FRAME_STEP]
            first = self._power(functional.pad(own[: _FRAME_STEP + 1], (_FRAME_STEP, 0))[None])
            last = self._power(functional.pad(own[-2 * _FRAME_STEP :], (0, 1))[None])
            start = number * _PER_HOP
            yield torch.cat((first, shared[start + 1 : start + _FRAMES - 1], last))

    def _power(self, frames: "torch.Tensor") -> "torch.Tensor":
        import torch

        spectrum: torch.Tensor = torch.fft.rfft(frames * self._taper).abs().square()
        return spectrum @ self._bands


def _spectrum(sound: "torch.Tensor", bases: "Sequence[torch.Tensor]") -> "torch.Tensor":
    import torch

    frames = sound.unfold(0, 2 * _FRAME_STEP, _FRAME_STEP)
    power = torch.stack([(frames @ basis).square() for basis in bases]).sum(dim=0)
    return power.clamp_min(1e-12).log10()


def _levels(mels: "torch.Tensor") -> "torch.Tensor":
    """Return decibels relative to the loudest, clipped at -80 and scaled so that -40 becomes 0."""
    decibels = 10 * mels.clamp_min(1e-10).log10()
    loudest = decibels.max()
    return (decibels - loudest).clamp_min(-80) / 40 + 1


def _apply_dense(found: "torch.Tensor", dense: Sequence[Any]) -> "torch.Tensor":
    from torch.nn import functional

    for number, (weight, bias) in enumerate(dense):
        found = functional.linear(found, weight, bias)
        if number + 1 < len(dense):
            found = found.relu()
    return found
