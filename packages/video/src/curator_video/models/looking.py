"""Looking: stages that show pictures of clips to a model of pictures."""

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
    """Looks at some pictures of a clip, those that other stages asked for as well among them."""

    fps: float = 1.0
    """How many pictures of a second the model is shown."""

    height: int = 256
    """How high these are, if they are higher. Stages with the same rate and height share them."""

    model_inference_batch_size: int = 32
    """How many pictures go through the model together, until that is more than the device holds."""

    device: Device = "auto"
    """`cuda` asks for a GPU, `cpu` does not, `auto` does where this machine has one."""

    model_field: str | None = field(default=None)
    """A score for the name of the model, and the digest of its weights; null for none."""

    def __post_init__(self) -> None:
        self.resources = resources_for(self.device, self.name)

    @abstractmethod
    def lent(self) -> Lent:
        """The model; it is loaded in `setup`."""

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
        """What the model says of each picture; vectors are made once for all that want them."""
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
        """The name of the model, and the digest of its weights."""
        return self._model.known_as

    def labels(self) -> dict[str, str]:
        """Which model it was, under the name that was given for that."""
        return {self.model_field: self.known_as} if self.model_field else {}
