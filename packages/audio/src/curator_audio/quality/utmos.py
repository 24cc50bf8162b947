"""UTMOS: the naturalness of speech, as estimated by a TorchScript network."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curator_core import WorkerInfo
from curator_models.devices import choose_device
from curator_models.hub import ModelError
from curator_models.weights import WeightsFile, weights_digest

from curator_audio.model_stage import AudioPiece
from curator_audio.quality.base import QualityModel, stack_pieces


def load_torchscript(path: Path) -> Any:
    """Load a TorchScript network, which includes its code."""
    import torch

    try:
        with warnings.catch_warnings():  # the format is deprecated, but models still use it
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} is not a TorchScript file: {reason}") from None


@dataclass(kw_only=True)
class UtmosFilter(QualityModel):
    """Add `utmos`, the naturalness of speech from 1 to 5; drop low scores.

    Recordings below the limit are dropped. The weights are not part of any wheel. The network takes
    samples at 16 kHz, shaped (recordings, samples), and returns a score per recording.
    """

    weights: str
    """A TorchScript file, or owner/name/file on Hugging Face, such as balacoon/utmos/utmos.jit."""

    at_least: float | None = None
    """Lowest score to keep; 3.5 is usual for clean speech."""

    def untrusted_code(self) -> Iterator[str]:
        yield "weights are TorchScript, which is a program"

    def sources(self) -> Sequence[WeightsFile]:
        extra = "curator-models[transformers]"
        return (WeightsFile("UTMOS", extra, (), self.weights, None, "utmos.jit"),)

    def limits(self) -> Mapping[str, float | None]:
        return {"utmos": self.at_least}

    def load(self, worker: WorkerInfo) -> str:
        file = self.sources()[0].file()
        self._device = choose_device(worker, self.resources, self.name)
        self._network = load_torchscript(file).to(self._device)
        return f"utmos {file.stem} sha256:{weights_digest([file])}"

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        import torch

        sounds = stack_pieces(pieces).to(self._device)
        with torch.inference_mode():
            scores = self._network(sounds).float().cpu().reshape(-1, 1)
        if len(scores) != len(pieces):
            raise ModelError(
                f"{self.weights} returned {len(scores)} scores for {len(pieces)} recordings, but "
                "must return one score for each"
            )
        return list(scores.numpy())
