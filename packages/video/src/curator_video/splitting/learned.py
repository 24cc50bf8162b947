"""The splitter that asks a network where shots end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from curator_core.places import WorkerInfo

from curator_video.splitting.shots import ShotSplitter

Precision: TypeAlias = Literal["bf16", "single"]


@dataclass
class TransNetShotSplitter(ShotSplitter):
    """Makes clips of shots, told by TransNetV2: dissolves and fades as well as cuts.

    On the CPU unless it is given a GPU: `with_(resources=Resources(gpus=1))`.
    """

    threshold: float = 0.4
    """From which score on a picture belongs to a transition, from 0 to 1."""

    precision: Precision = "bf16"
    """bf16 is twice as fast where the processor knows it; single is the exact reckoning."""

    def __post_init__(self) -> None:
        self._network: Any = None

    def check(self) -> Iterator[str]:
        yield from super().check()
        if not 0 < self.threshold < 1:
            yield f"threshold is {self.threshold}, but must lie between 0 and 1"
        if self.precision not in ("bf16", "single"):
            yield f"precision is {self.precision!r}, but must be bf16 or single"

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.splitting.transnet import device_of, load_network

        self._network = load_network(device_of(worker))

    def teardown(self) -> None:
        self._network = None

    def detector(self) -> Any:
        from curator_video.splitting.transnet import TransNetDetector

        return TransNetDetector(self._network, self.threshold, self.precision)
