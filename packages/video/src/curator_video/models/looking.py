"""Stages that apply an image model to sampled pictures of clips."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from curator_core.model.resources import NodeInfo, WorkerInfo
from curator_models.devices import Device, resources_for

from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Clip
from curator_video.models.lending import Lent
from curator_video.models.sampling import pictures_of
from curator_video.sharing import LookingStage

_VECTORS = "curator_video.frame_vectors"


@dataclass(kw_only=True)
class PictureModelStage(LookingStage, ABC):
    """Apply a model to sampled pictures of a clip. Samples are shared with other stages."""

    fps: float = 1.0
    """Pictures per second that the model sees."""

    height: int = 256
    """Maximum picture height; higher pictures are scaled down. Stages with the same rate and height
    share them."""

    model_inference_batch_size: int = 32
    """Number of pictures per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    model_field: str | None = field(default=None)
    """Score field for the name of the model and the digest of its weights; null writes none."""

    def __post_init__(self) -> None:
        self.resources = resources_for(self.device, self.name)

    @abstractmethod
    def lent(self) -> Lent:
        """Return the model; `setup` loads it."""

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def wanted(self) -> Wanted:
        return Wanted(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from self.lent().problems()
        for name in ("fps", "model_inference_batch_size"):
            if not getattr(self, name) > 0:
                yield f"{name} is {getattr(self, name)}, but must be more than 0"
        if self.height < 0:
            yield f"height is {self.height}, but must be 0 (as high as they are) or more"

    def setup_on_node(self, node: NodeInfo) -> None:
        self.lent().fetch()

    def setup(self, worker: WorkerInfo) -> None:
        self._model = self.lent()
        self._model.load(worker, self.name, self.resources)

    def teardown(self) -> None:
        if (model := vars(self).pop("_model", None)) is not None:
            model.unload()

    def answers(self, clip: Clip) -> list[Any]:
        """Return the model's answer for each picture. Vectors are computed once for all stages."""
        if not self._model.has_head and not self.shares_vectors:
            return self._model.answers(pictures_of(self, clip, self.sampling))
        known = clip.derived.setdefault(_VECTORS, {})
        key = (self._model.vectors_as, self.sampling)
        if key not in known:
            known[key] = self._model.answers(pictures_of(self, clip, self.sampling))
        return list(self._model.judged(known[key]) if self._model.has_head else known[key])

    shares_vectors = False

    @property
    def known_as(self) -> str:
        """The name of the model and the digest of its weights."""
        return self._model.known_as

    def labels(self) -> dict[str, str]:
        """Return the name of the model under the configured score field."""
        return {self.model_field: self.known_as} if self.model_field else {}
