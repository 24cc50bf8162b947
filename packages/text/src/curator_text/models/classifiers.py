"""Classifiers: stages that label texts or score them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core.errors import PipelineError

from curator_text.models.base import ModelStage, TextModel
from curator_text.models.labels import (
    HeadKind,
    LabelFields,
    LabelFilter,
    LabelModel,
    NumberModel,
    label_filters,
    numbers,
)


@dataclass(kw_only=True)
class Classifier(TextModel):
    """Adds a label to each text, and optionally keeps only some labels.

    A missing or blank text gets no label. It is kept, unless `filter_by` is set.
    """

    label_field: str | None = "label"
    """Output column for the label."""

    score_field: str | None = None
    """Output column for the probability of the label, from 0 to 1."""

    probabilities_field: str | None = None
    """Output column for the probabilities of all labels, in the model's order."""

    filter_by: list[str] | None = None
    """Labels to keep. If unset, all documents are kept."""

    base_model: str | None = None
    """Folder or Hugging Face name of the transformer's configuration; by default the one that the
    model names."""

    def __post_init__(self) -> None:
        if self.label_field is None:
            raise PipelineError(
                f"label_field is null, but {type(self).__name__} outputs labels: name a column"
            )

    def head_kind(self) -> HeadKind:
        return "first_token"

    def model_stage(self) -> ModelStage:
        base = None if self.base_model is None else self.source_of(self.base_model)
        return LabelModel(
            self.source_of(self.model),
            LabelFields(str(self.label_field), self.score_field, self.probabilities_field),
            self.head_kind(),
            tuple(self.filter_by or ()),
            base,
            inference=self.inference(),
        )

    def filters(self) -> Sequence[LabelFilter]:
        return label_filters(str(self.label_field), self.filter_by)


@dataclass(kw_only=True)
class SequenceClassifier(Classifier):
    """Runs any sequence classification model that transformers can load.

    For a model with a single output number (regression), set `label_field: null` and a
    `score_field`.
    """

    base_model: None = None
    """Not needed, because these models include their configuration."""

    def __post_init__(self) -> None:
        if self.label_field is not None:
            return
        if self.score_field is None:
            raise PipelineError("label_field is null: name a column for the number in score_field")
        for name in ("filter_by", "probabilities_field"):
            if getattr(self, name) is not None:
                raise PipelineError(f"label_field is null, so {name} has no effect")

    def head_kind(self) -> HeadKind:
        return "sequence"

    def model_stage(self) -> ModelStage:
        if self.label_field is not None:
            return super().model_stage()
        score = str(self.score_field)
        return NumberModel(self.source_of(self.model), score, inference=self.inference())


@dataclass(kw_only=True)
class QualityClassifier(Classifier):
    """Classifies English web pages as High, Medium or Low quality.

    Uses NVIDIA's DeBERTa model.
    """

    model: str = "nvidia/quality-classifier-deberta"
    """Folder of a model, or its Hugging Face name."""

    label_field: str | None = "quality_pred"
    """Output column for the label."""

    max_chars: int | None = 6000
    """Number of characters of a text to tokenize; the rest is ignored."""

    max_seq_length: int | None = 1024
    """Maximum number of tokens of a text passed to the model."""


@dataclass(kw_only=True)
class DomainClassifier(Classifier):
    """Classifies the topic of English pages, such as Health or Sports.

    Uses NVIDIA's DeBERTa model.
    """

    model: str = "nvidia/domain-classifier"
    """Folder of a model, or its Hugging Face name."""

    label_field: str | None = "domain_pred"
    """Output column for the label."""

    max_chars: int | None = 2000
    """Number of characters of a text to tokenize; the rest is ignored."""


@dataclass(kw_only=True)
class MultilingualDomainClassifier(DomainClassifier):
    """Classifies the topic of pages in 52 languages.

    Uses NVIDIA's multilingual DeBERTa model.
    """

    model: str = "nvidia/multilingual-domain-classifier"
    """Folder of a model, or its Hugging Face name."""


@dataclass(kw_only=True)
class ContentTypeClassifier(Classifier):
    """Classifies the type of documents, such as News or Reviews.

    Uses NVIDIA's DeBERTa model.
    """

    model: str = "nvidia/content-type-classifier-deberta"
    """Folder of a model, or its Hugging Face name."""

    label_field: str | None = "content_pred"
    """Output column for the label."""

    max_chars: int | None = 6000
    """Number of characters of a text to tokenize; the rest is ignored."""

    max_seq_length: int | None = 1024
    """Maximum number of tokens of a text passed to the model."""


HIGH_QUALITY, LOW_QUALITY = "high_quality", "low_quality"
MAX_SCORE = 5
THRESHOLD = 2.5
"""Minimum score of a high-quality page."""


@dataclass(kw_only=True)
class FineWebEduClassifier(TextModel):
    """Scores the educational value of a page, and adds a rounded score and a label.

    The label is high_quality for scores of 2.5 or more. `model` can also name NVIDIA's two models
    of the same architecture: nemocurator-fineweb-mixtral-edu-classifier and its nemotron-4 variant.
    """

    model: str = "HuggingFaceFW/fineweb-edu-classifier"
    """Folder of a model, or its Hugging Face name."""

    label_field: str = "fineweb-edu-score-label"
    """Output column for the label."""

    float_score_field: str = "fineweb-edu-score-float"
    """Output column for the model's raw score."""

    int_score_field: str = "fineweb-edu-score-int"
    """Output column for the score, rounded, from 0 to 5."""

    filter_by: list[str] | None = None
    """Labels to keep. If unset, all documents are kept."""

    def model_stage(self) -> ModelStage:
        return EducationModel(
            self.source_of(self.model),
            self.float_score_field,
            self.int_score_field,
            self.label_field,
            inference=self.inference(),
        )

    def filters(self) -> Sequence[LabelFilter]:
        return label_filters(self.label_field, self.filter_by, (HIGH_QUALITY, LOW_QUALITY))


@dataclass
class EducationModel(NumberModel):
    """Adds the score, the rounded score and the label."""

    int_score_field: str
    label_field: str

    def outputs(self) -> Sequence[str]:
        return (self.score_field, self.int_score_field, self.label_field)

    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        scores = numbers(answers)
        return {
            self.score_field: pa.array(scores, pa.float32()),
            self.int_score_field: pa.array(
                [None if score is None else round_score(score) for score in scores], pa.int64()
            ),
            self.label_field: pa.array(
                [None if score is None else quality_label(score) for score in scores], pa.string()
            ),
        }


def round_score(score: float) -> int:
    return round(min(max(score, 0.0), float(MAX_SCORE)))


def quality_label(score: float) -> str:
    return HIGH_QUALITY if score >= THRESHOLD else LOW_QUALITY
