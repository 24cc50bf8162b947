"""Classifiers: stages that label texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_core.errors import PipelineError

from curator_text.models.composing import TextModel
from curator_text.models.inferring import ModelStage
from curator_text.models.labelling import (
    Kind,
    LabelFields,
    LabelFilter,
    LabelModel,
    NumberModel,
    label_filters,
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
                f"label_field is null, but {type(self).__name__} tells labels: name a column"
            )

    def kind(self) -> Kind:
        return "first_token"

    def model_stage(self) -> ModelStage:
        base = None if self.base_model is None else self.source_of(self.base_model)
        return LabelModel(
            self.source_of(self.model),
            LabelFields(str(self.label_field), self.score_field, self.probabilities_field),
            self.kind(),
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
                raise PipelineError(f"label_field is null, so there is nothing for {name}")

    def kind(self) -> Kind:
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
