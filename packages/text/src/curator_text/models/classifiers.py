"""Classifiers that give each text a label."""

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
    """Adds a label to each text, and keeps those whose label is asked for.

    A missing or blank text has no label: it stays, unless `filter_by` says which labels do.
    """

    label_field: str | None = "label"
    """A column for the label."""

    score_field: str | None = None
    """A column for how likely the label is, from 0 to 1."""

    probabilities_field: str | None = None
    """A column for how likely each label is, in the order of the model."""

    filter_by: list[str] | None = None
    """The labels to keep; all documents stay unless given."""

    base_model: str | None = None
    """Where the settings of the transformer are, if the model only names it: a folder or a name."""

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
    """Any model for sequence classification that transformers can load.

    One that gives a single number (a regression) takes `label_field: null` and a `score_field`.
    """

    base_model: None = None
    """Not needed: such a model brings its settings."""

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
    """The quality of a web page in English: High, Medium or Low, by NVIDIA's DeBERTa model."""

    model: str = "nvidia/quality-classifier-deberta"
    """The folder of a model, or its name at Hugging Face."""

    label_field: str | None = "quality_pred"
    """A column for the label."""

    max_chars: int | None = 6000
    """How much of a text is tokenized; the rest is not looked at."""

    max_seq_length: int | None = 1024
    """How many tokens of a text the model is shown."""


@dataclass(kw_only=True)
class DomainClassifier(Classifier):
    """What a page in English is about, such as Health or Sports, by NVIDIA's DeBERTa model."""

    model: str = "nvidia/domain-classifier"
    """The folder of a model, or its name at Hugging Face."""

    label_field: str | None = "domain_pred"
    """A column for the label."""

    max_chars: int | None = 2000
    """How much of a text is tokenized; the rest is not looked at."""


@dataclass(kw_only=True)
class MultilingualDomainClassifier(DomainClassifier):
    """What a page in one of 52 languages is about, by NVIDIA's multilingual DeBERTa model."""

    model: str = "nvidia/multilingual-domain-classifier"
    """The folder of a model, or its name at Hugging Face."""


@dataclass(kw_only=True)
class ContentTypeClassifier(Classifier):
    """The kind of a document, such as News or Reviews, by NVIDIA's DeBERTa model."""

    model: str = "nvidia/content-type-classifier-deberta"
    """The folder of a model, or its name at Hugging Face."""

    label_field: str | None = "content_pred"
    """A column for the label."""

    max_chars: int | None = 6000
    """How much of a text is tokenized; the rest is not looked at."""

    max_seq_length: int | None = 1024
    """How many tokens of a text the model is shown."""
