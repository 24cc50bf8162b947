"""SQUIM: STOI, PESQ and SI-SDR, estimated without a clean reference recording."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import WorkerInfo
from curator_core.model.optional_dependencies import not_installed
from curator_models.devices import choose_device
from curator_models.hub import ModelError
from curator_models.weights import WeightsFile, weights_digest

from curator_audio.model_stage import AudioPiece
from curator_audio.quality.base import QualityModel, load_weights_only, stack_pieces

_FILE = "squim_objective_dns2020.pth"


@dataclass(kw_only=True)
class SquimFilter(QualityModel):
    """Add `squim_stoi`, `squim_pesq` and `squim_si_sdr`; drop low scores.

    Recordings below a limit are dropped. The network is part of torchaudio; its weights are
    downloaded from PyTorch once, or given as a path.
    """

    weights: str | None = None
    """The file squim_objective_dns2020.pth, or owner/name/file on Hugging Face. Downloaded from
    download.pytorch.org by default.
    """

    stoi_at_least: float | None = None
    """Lowest intelligibility to keep, from 0 to 1."""

    pesq_at_least: float | None = None
    """Lowest quality to keep, from 1 to 4.5."""

    si_sdr_at_least: float | None = None
    """Lowest ratio of speech to all other sound to keep, in decibels."""

    def sources(self) -> Sequence[WeightsFile]:
        if self.weights is None:
            return ()
        extra = "curator-models[transformers]"
        return (WeightsFile("SQUIM", extra, (), self.weights, None, _FILE),)

    def check(self) -> Iterable[str]:
        yield from super().check()
        command = "pip install 'curator-audio[squim]'"
        if problem := not_installed("SQUIM", ["torchaudio"], command):
            yield problem

    def limits(self) -> Mapping[str, float | None]:
        return {
            "squim_stoi": self.stoi_at_least,
            "squim_pesq": self.pesq_at_least,
            "squim_si_sdr": self.si_sdr_at_least,
        }

    def load(self, worker: WorkerInfo) -> str:
        from curator_audio.torchaudio_compat import torchaudio

        self._device = choose_device(worker, self.resources, self.name)
        if self.weights is None:
            network, label = _download_network(torchaudio), f"squim {_FILE}"
        else:
            file = self.sources()[0].file()
            network = torchaudio.models.squim_objective_base()
            _load_state(network, load_weights_only(file), self.weights)
            label = f"squim {file.stem} sha256:{weights_digest([file])}"
        self._network = network.eval().to(self._device)
        return label

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        import torch

        sounds = stack_pieces(pieces).to(self._device)
        with torch.inference_mode():
            return list(torch.stack(self._network(sounds), dim=1).float().cpu().numpy())


def _download_network(torchaudio: Any) -> Any:
    try:
        return torchaudio.pipelines.SQUIM_OBJECTIVE.get_model()
    except (OSError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"cannot download the weights of SQUIM from download.pytorch.org: {reason}; set "
            f"weights to the path of {_FILE}"
        ) from error


def _load_state(network: Any, state: Any, name: str) -> None:
    try:
        network.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{name} has no weights of SQUIM: {reason}") from None
