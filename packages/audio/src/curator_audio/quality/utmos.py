"""UTMOS: naturalness of speech, by a TorchScript network."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import WorkerInfo
from curator_models.devices import device_of
from curator_models.digests import digest_of
from curator_models.locating import ModelError
from curator_models.weights import WeightsFile

from curator_audio.cutting import Piece
from curator_audio.quality.scoring import ScoringModel


@dataclass(kw_only=True)
class UtmosFilter(ScoringModel):
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
        from curator_audio.quality.networks import script_of

        file = self.sources()[0].file()
        self._device = device_of(worker, self.resources, self.name)
        self._network = script_of(file).to(self._device)
        return f"utmos {file.stem} sha256:{digest_of([file])}"

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def ask(self, pieces: Sequence[Piece]) -> Sequence[Any]:
        import torch

        from curator_audio.quality.networks import stacked

        sounds = stacked(pieces).to(self._device)
        with torch.inference_mode():
            scores = self._network(sounds).float().cpu().reshape(-1, 1)
        if len(scores) != len(pieces):
            raise ModelError(
                f"{self.weights} gives {len(scores)} numbers for {len(pieces)} recordings: it is "
                "no network that scores each"
            )
        return list(scores.numpy())
