"""Education: score the educational value of a page from 0 to 5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from curator_text.models.composing import TextModel
from curator_text.models.inferring import ModelStage
from curator_text.models.labelling import LabelFilter, NumberModel, label_filters, numbers

HIGH, LOW = "high_quality", "low_quality"
MOST = 5
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
        return label_filters(self.label_field, self.filter_by, (HIGH, LOW))


@dataclass
class EducationModel(NumberModel):
    """Adds the score, the rounded score and the label."""

    int_score_field: str
    label_field: str

    def outputs(self) -> Sequence[str]:
        return (self.score_field, self.int_score_field, self.label_field)

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        scores = numbers(answers)
        return {
            self.score_field: pa.array(scores, pa.float32()),
            self.int_score_field: pa.array(
                [None if score is None else rounded(score) for score in scores], pa.int64()
            ),
            self.label_field: pa.array(
                [None if score is None else label_of(score) for score in scores], pa.string()
            ),
        }


def rounded(score: float) -> int:
    return round(min(max(score, 0.0), float(MOST)))


def label_of(score: float) -> str:
    return HIGH if score >= THRESHOLD else LOW
