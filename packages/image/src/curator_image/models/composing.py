"""Image models: composite stages whose parts run in parallel on different tasks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage, CompositeStage, Resources
from curator_models.devices import Device, resources_for

from curator_image.batches import ImageBatch


@dataclass(kw_only=True)
class ImageModel(CompositeStage[ImageBatch, ImageBatch], ABC):
    """An image model: it adds a score, and limits on the score drop pictures."""

    model_inference_batch_size: int = 32
    """Number of pictures per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    @abstractmethod
    def model_stages(self) -> Sequence[AnyStage]:
        """Return the parts that run models.

        Resources and workers set on the whole apply to them.
        """

    def other_stages(self) -> Sequence[AnyStage]:
        """Return the CPU parts that follow. The last part gets the name of the whole."""
        return ()

    def decompose(self) -> Sequence[AnyStage]:
        models, others = list(self.model_stages()), list(self.other_stages())
        wanted = resources_for(self.device, self.name)
        models = [part.with_(resources=wanted) for part in models]
        parts = [*models, *others]
        *first, last = parts
        return [
            *(part.with_(name=f"{self.name}_{part.name}") for part in first),
            last.with_(name=self.name),
        ]

    def parts(self) -> Sequence[AnyStage]:
        """Return the parts. Only model parts keep the given resources and workers."""
        count = len(self.model_stages())
        return [
            part if place < count else part.with_(resources=Resources(), num_workers=None)
            for place, part in enumerate(super().parts())
        ]
