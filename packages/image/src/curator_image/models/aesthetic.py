"""Aesthetic scores: predict how much people like a picture, with LAION's predictors."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage
from curator_models.weights import WeightsFile

from curator_image.filters.values import ScoreThreshold
from curator_image.models.base import ImageModel
from curator_image.models.clip import ClipSource
from curator_image.models.embedder import ClipVectors
from curator_image.models.heads import HeadKind, HeadScores

CLIP_LARGE = "openai/clip-vit-large-patch14"
LAION_HEAD = "ttj/sac-logos-ava1-l14-linearMSE"
_VECTORS = "_curator_clip_vectors"


@dataclass(kw_only=True)
class ClipHeadModel(ImageModel):
    """Base class of models with a head over CLIP vectors, computed or read from a column."""

    clip: str = CLIP_LARGE
    """CLIP: a folder, or a name on Hugging Face. A head works with one CLIP model only."""

    embedding_field: str | None = None
    """Column with vectors of the same CLIP by `ImageEmbedder`, to avoid computing them again."""

    score_field: str
    """Column for the score."""

    model_field: str | None = None
    """Column for the name of the head and the digest of its weights."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    def head(self) -> WeightsFile:
        """Return the source of the head."""
        raise NotImplementedError

    def head_kind(self) -> HeadKind:
        """Return the architecture of the head."""
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
            kind=self.head_kind(),
            embedding_field=self.embedding_field or _VECTORS,
            score_field=self.score_field,
            model_field=self.model_field,
            drops_vectors=self.embedding_field is None,
        )
        return [scores, *self.limits()]

    def limits(self) -> Sequence[ScoreThreshold]:
        """Return the stages that drop pictures by their score."""
        return ()


@dataclass(kw_only=True)
class AestheticFilter(ClipHeadModel):
    """Drop pictures that are not aesthetic, by LAION's head over CLIP L/14.

    Scores range from about 1 to 10; most pictures on the web score between 4 and 6.
    """

    score_field: str = "aesthetic_score"
    """Column for the score."""

    min_score: float | None = 5.0
    """Minimum score to keep a picture; null only adds scores."""

    head_weights: str = LAION_HEAD
    """The head: a file (`.safetensors`, `.pth`), or a name on Hugging Face."""

    model_field: str | None = "aesthetic_model"
    """Column for the name of the head and the digest of its weights; null writes none."""

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
