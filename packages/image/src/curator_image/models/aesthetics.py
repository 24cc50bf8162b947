"""Aesthetics: how much people like a picture, as LAION's predictors learned it from ratings."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage
from curator_models.weights import WeightsFile

from curator_image.models.composing import ImageModel
from curator_image.models.head_scores import HeadScores
from curator_image.models.heads import Shape
from curator_image.models.networks import ClipVectors
from curator_image.models.sources import ClipSource
from curator_image.models.thresholds import ScoreThreshold

CLIP_LARGE = "openai/clip-vit-large-patch14"
LAION_HEAD = "ttj/sac-logos-ava1-l14-linearMSE"
_VECTORS = "_curator_clip_vectors"


@dataclass(kw_only=True)
class ClipHeadModel(ImageModel):
    """A head over CLIP's vectors, which are made for it, or stand in a column already."""

    clip: str = CLIP_LARGE
    """CLIP: a folder, or a name at Hugging Face. A head belongs to one kind of CLIP."""

    embedding_field: str | None = None
    """A column with vectors of that CLIP, made by `ImageEmbedder`, so that they are made once."""

    score_field: str
    """A column for the score."""

    model_field: str | None = None
    """A column for the name of the head, and the digest of its weights."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    def head(self) -> WeightsFile:
        """Where the head comes from."""
        raise NotImplementedError

    def head_shape(self) -> Shape:
        """How the head is built."""
        return "linear"

    def model_stages(self) -> Sequence[AnyStage]:
        if self.embedding_field is not None:
            return ()
        source = ClipSource(self.clip, cache_dir=self.cache_dir)
        return [
            ClipVectors(
                source=source,
                embedding_field=_VECTORS,
                inference_batch_size=self.model_inference_batch_size,
            )
        ]

    def other_stages(self) -> Sequence[AnyStage]:
        scores = HeadScores(
            weights=self.head(),
            shape=self.head_shape(),
            embedding_field=self.embedding_field or _VECTORS,
            score_field=self.score_field,
            model_field=self.model_field,
            drops_vectors=self.embedding_field is None,
        )
        return [scores, *self.limits()]

    def limits(self) -> Sequence[ScoreThreshold]:
        """What drops pictures by their score."""
        return ()


@dataclass(kw_only=True)
class AestheticFilter(ClipHeadModel):
    """Drops pictures that people would not like, by LAION's head over CLIP L/14.

    Its scale goes from about 1 to 10; most pictures of the web lie between 4 and 6.
    """

    score_field: str = "aesthetic_score"
    """A column for the score."""

    min_score: float | None = 5.0
    """The least score that stays; null only adds scores."""

    head_weights: str = LAION_HEAD
    """The head: a file (`.safetensors`, `.pth`), or a name at Hugging Face."""

    model_field: str | None = "aesthetic_model"
    """A column for the name of the head, and the digest of its weights; null for none."""

    def head(self) -> WeightsFile:
        return WeightsFile(
            "the aesthetic head",
            "curator-image[clip]",
            ("torch", "transformers", "safetensors"),
            self.head_weights,
            cache_dir=self.cache_dir,
        )

    def limits(self) -> Sequence[ScoreThreshold]:
        if self.min_score is None:
            return ()
        return [ScoreThreshold(self.score_field, min_score=self.min_score, what="aesthetic score")]
