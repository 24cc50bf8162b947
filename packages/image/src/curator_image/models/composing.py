"""Composing: a model as a pipeline has it, in parts that run side by side on different tasks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage, CompositeStage, Resources
from curator_models.devices import Device, resources_for

from curator_image.batches import ImageBatch


@dataclass(kw_only=True)
class ImageModel(CompositeStage[ImageBatch, ImageBatch], ABC):
    """A model over pictures: it adds a score, and limits on that score drop what does not pass."""

    model_inference_batch_size: int = 32
    """How many pictures go through the model together, until that is more than the device holds."""

    device: Device = "auto"
    """`cuda` asks for a GPU, `cpu` does not, `auto` does where this machine has one."""

    @abstractmethod
    def model_stages(self) -> Sequence[AnyStage]:
        """The parts that run models: resources and workers given to the whole are theirs."""

    def other_stages(self) -> Sequence[AnyStage]:
        """What comes behind them, on the CPU. The last one that drops pictures is called as the
        whole is."""
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
        """Resources and workers are meant for models; the other parts need neither."""
        count = len(self.model_stages())
        return [
            part if place < count else part.with_(resources=Resources(), num_workers=None)
            for place, part in enumerate(super().parts())
        ]
