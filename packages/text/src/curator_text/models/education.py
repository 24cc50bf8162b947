"""Education: how much a page teaches, from 0 to 5."""

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
"""From here on a score is that of a good page."""


@dataclass(kw_only=True)
class FineWebEduClassifier(TextModel):
    """How much a page teaches: a score, the score as a whole number from 0 to 5, and a label.

    The label is high_quality from a score of 2.5 on. NVIDIA's two models of the same shape can be
    named in `model`: nemocurator-fineweb-mixtral-edu-classifier and its nemotron-4 sibling.
    """

    model: str = "HuggingFaceFW/fineweb-edu-classifier"
    """The folder of a model, or its name at Hugging Face."""

    label_field: str = "fineweb-edu-score-label"
    """A column for the label."""

    float_score_field: str = "fineweb-edu-score-float"
    """A column for the score as the model gives it."""

    int_score_field: str = "fineweb-edu-score-int"
    """A column for the score, rounded, from 0 to 5."""

    filter_by: list[str] | None = None
    """The labels to keep; all documents stay unless given."""

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
    """Adds a score, and what follows from it."""

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
