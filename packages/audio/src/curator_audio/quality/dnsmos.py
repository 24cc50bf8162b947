"""DNSMOS: estimates of speech quality as rated by listeners, from 1 to 5."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import WorkerInfo
from curator_models.devices import choose_device
from curator_models.weights import PackagedFile, WeightsFile, weights_digest

from curator_audio.model_stage import AudioPiece
from curator_audio.quality.base import QualityModel
from curator_audio.quality.dnsmos_networks import DnsmosCutter, counted_windows

_WHEEL, _EXTRA = "speechmos", "curator-audio[quality]"

_FILE, _OPINION_FILE = "sig_bak_ovr.onnx", "model_v8.onnx"

_SCORES = ("sig", "bak", "ovrl", "p808")


@dataclass(kw_only=True)
class DnsmosFilter(QualityModel):
    """Add DNSMOS scores of speech quality, and drop recordings below a limit.

    `dnsmos_sig` rates the speech, `dnsmos_bak` the background, and `dnsmos_ovrl` the whole, from 1
    to 5. `dnsmos_p808` rates the whole by another network. The weights come with the `speechmos`
    wheel.
    """

    sig_at_least: float | None = None
    """Lowest speech score to keep."""

    bak_at_least: float | None = None
    """Lowest background score to keep."""

    ovrl_at_least: float | None = None
    """Lowest overall score to keep."""

    p808_at_least: float | None = None
    """Lowest P.808 score to keep."""

    personalized: bool = False
    """Whether other voices in the background count as noise."""

    weights: str | None = None
    """Replacement for sig_bak_ovr.onnx: a file, or owner/name/file on Hugging Face."""

    opinion_weights: str | None = None
    """Replacement for model_v8.onnx."""

    def sources(self) -> Sequence[WeightsFile]:
        folder = "pdnsmos_models" if self.personalized else "dnsmos_models"
        own, other = PackagedFile(_WHEEL, f"{folder}/{_FILE}"), f"dnsmos_models/{_OPINION_FILE}"
        return (
            WeightsFile("DNSMOS", _EXTRA, (), self.weights, own, _FILE),
            WeightsFile(
                "DNSMOS",
                _EXTRA,
                (),
                self.opinion_weights,
                PackagedFile(_WHEEL, other),
                _OPINION_FILE,
            ),
        )

    def check(self) -> Iterable[str]:
        yield from dict.fromkeys(super().check())  # both files come with one wheel
        for name in _SCORES:
            limit = getattr(self, f"{name}_at_least")
            if limit is not None and (limit < 1 or limit > 5):
                yield f"{name}_at_least is {limit:g}, but scores go from 1 to 5"

    def limits(self) -> Mapping[str, float | None]:
        return {f"dnsmos_{name}": getattr(self, f"{name}_at_least") for name in _SCORES}

    @property
    def model_column(self) -> str:
        return "dnsmos_model"

    def load(self, worker: WorkerInfo) -> str:
        from curator_audio.quality.dnsmos_networks import OpinionNetwork, SignalNetwork
        from curator_audio.quality.onnx_tensors import read_tensors

        files = [source.file() for source in self.sources()]
        signal, opinion = map(read_tensors, files)
        self._device = choose_device(worker, self.resources, self.name)
        self._signal = SignalNetwork(signal, self._device, personalized=self.personalized)
        self._opinion = OpinionNetwork(opinion, self._device)
        return (
            f"dnsmos{' personalized' if self.personalized else ''} sha256:{weights_digest(files)}"
        )

    def unload(self) -> None:
        vars(self).pop("_signal", None)
        vars(self).pop("_opinion", None)

    def cutter(self) -> DnsmosCutter:
        return DnsmosCutter()

    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        import torch

        with torch.inference_mode():
            return [self._score_piece(piece) for piece in pieces]

    def _score_piece(self, piece: AudioPiece) -> Any:
        import numpy as np
        import torch

        windows = counted_windows(piece)
        if not windows:
            return np.zeros(len(_SCORES))
        sound = torch.from_numpy(piece.samples).to(self._device)
        scores = torch.cat((self._signal(sound, windows), self._opinion(sound, windows)), dim=1)
        return np.asarray(scores.mean(dim=0).numpy())
