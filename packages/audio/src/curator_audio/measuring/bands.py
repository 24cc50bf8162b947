"""Bands: up to which frequency there is anything, whatever the sample rate promises."""

from typing import TYPE_CHECKING

from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    import torch

_POINTS = 512
_FLOOR_DB = -50.0
"""What lies so far below the strongest part counts as nothing."""


class Bandwidth:
    """The highest frequency, in Hz, at which the mean spectrum is not 50 dB below its peak."""

    def __init__(self) -> None:
        self._power: torch.Tensor | float = 0.0
        self._frames = 0
        self._rest: torch.Tensor | None = None
        self._rate = 0

    def hear(self, piece: Waveform) -> None:
        import torch

        mono = torch.from_numpy(piece.samples).mean(dim=0)
        if self._rest is not None:
            mono = torch.cat([self._rest, mono])
        self._rate = piece.sample_rate
        frames = mono.shape[0] // _POINTS
        self._add(mono[: frames * _POINTS].reshape(-1, _POINTS))
        self._rest = mono[frames * _POINTS :]

    def _add(self, frames: "torch.Tensor") -> None:
        import torch

        if frames.shape[0]:
            spectra = torch.fft.rfft(frames * torch.hann_window(_POINTS))
            self._power = self._power + spectra.abs().square().double().sum(dim=0)
            self._frames += frames.shape[0]

    def answer(self) -> float:
        import torch

        if not self._frames and self._rest is not None:
            self._add(torch.nn.functional.pad(self._rest, (0, _POINTS - self._rest.shape[0]))[None])
        power = torch.as_tensor(self._power)
        peak = float(power.max())
        if peak <= 0:
            return 0.0
        heard = torch.nonzero(power >= peak * 10 ** (_FLOOR_DB / 10))
        return float(heard.max()) * self._rate / _POINTS
