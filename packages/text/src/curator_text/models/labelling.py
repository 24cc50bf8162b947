"""Labelling: turn a model's probabilities into labels, and filter documents by label."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, ProcessingStage
from curator_core.errors import PipelineError, hint
from curator_models.loading import empty_backbone, fill, labels_in, pretrained, state_in
from curator_models.locating import ModelError, settings_in

from curator_text.models.inferring import ModelStage
from curator_text.models.locating import ModelSource

Kind: TypeAlias = Literal["first_token", "sequence"]
"""Architecture of a model: NVIDIA's first-token head, or one of transformers."""

NO_LABEL = "no text to tell a label by"


@dataclass(frozen=True)
class LabelFields:
    """Output columns for a label and its probabilities."""

    label: str
    score: str | None = None
    probabilities: str | None = None

    def named(self) -> Sequence[str]:
        return [name for name in (self.label, self.score, self.probabilities) if name is not None]


@dataclass
class LabelModel(ModelStage):
    """Adds the most likely label, and its probability."""

    fields: LabelFields
    kind: Kind = "sequence"
    filter_by: tuple[str, ...] = ()
    base_model: ModelSource | None = None
    """Source of the transformer's configuration, for models that only name it."""

    def outputs(self) -> Sequence[str]:
        return self.fields.named()

    def check(self) -> Iterable[str]:
        yield from super().check()
        local = self.source.local
        if local is not None:
            yield from _unknown_labels(self.filter_by, labels_in(local))

    def setup_on_node(self, node: Any) -> None:
        super().setup_on_node(node)
        folder = self.source.folder()
        if self.kind == "first_token" and "model_type" not in settings_in(folder):
            self._base(folder).fetch(weights=False)

    def load(self, folder: Path) -> Any:
        self._labels = labels_in(folder)
        if problems := [*_unknown_labels(self.filter_by, self._labels)]:
            raise ModelError("\n".join(problems))
        return self._first_token(folder) if self.kind == "first_token" else self._sequence(folder)

    def _first_token(self, folder: Path) -> Any:
        from curator_text.models.networks import FirstTokenClassifier

        if not self._labels:
            raise ModelError(f"{folder / 'config.json'} names no labels (id2label)")
        has_all = "model_type" in settings_in(folder)
        backbone = empty_backbone(folder if has_all else self._base(folder).folder())
        network = FirstTokenClassifier(backbone, backbone.config.hidden_size, len(self._labels))
        return fill(network, state_in(folder), folder)

    def _base(self, folder: Path) -> ModelSource:
        if self.base_model is not None:
            return self.base_model
        named = settings_in(folder).get("base_model")
        if not named:
            raise ModelError(
                f"{folder / 'config.json'} names neither model_type nor base_model: "
                "it is not known which transformer these weights are for"
            )
        return ModelSource(str(named), None, self.source.cache_dir, self.source.token_variable)

    def _sequence(self, folder: Path) -> Any:
        from curator_text.models.networks import SequenceOutputs

        model = pretrained("AutoModelForSequenceClassification", folder)
        config = model.config
        if config.num_labels == 1:
            raise ModelError(
                f"{folder} gives one number and no labels: set label_field to null, and name a "
                "column for the number in score_field"
            )
        self._labels = [str(config.id2label[place]) for place in range(config.num_labels)]
        several = config.problem_type == "multi_label_classification"
        return SequenceOutputs(model, "sigmoid" if several else "softmax")

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        best = [None if answer is None else int(answer.argmax()) for answer in answers]
        labels = [None if place is None else self._labels[place] for place in best]
        columns = {self.fields.label: pa.array(labels, pa.string())}
        if self.fields.score is not None:
            columns[self.fields.score] = pa.array(
                [
                    None if place is None else answer[place]
                    for answer, place in zip(answers, best, strict=True)
                ],
                pa.float32(),
            )
        if self.fields.probabilities is not None:
            columns[self.fields.probabilities] = vectors(answers)
        return columns


@dataclass
class NumberModel(ModelStage):
    """Adds the single output number of a model."""

    score_field: str

    def outputs(self) -> Sequence[str]:
        return (self.score_field,)

    def load(self, folder: Path) -> Any:
        from curator_text.models.networks import SequenceOutputs

        model = pretrained("AutoModelForSequenceClassification", folder)
        if model.config.num_labels != 1:
            raise ModelError(
                f"{folder} tells {model.config.num_labels} labels and gives no single number: "
                "name a column for the label in label_field"
            )
        return SequenceOutputs(model, "none")

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.score_field: pa.array(numbers(answers), pa.float32())}


def numbers(answers: Sequence[Any]) -> list[float | None]:
    """Return the first number of each answer."""
    return [None if answer is None else float(answer[0]) for answer in answers]


def vectors(answers: Sequence[Any]) -> pa.Array:
    """Return complete answers as lists of numbers."""
    return pa.array(list(answers), pa.list_(pa.float32()))


@dataclass
class LabelFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps documents with some labels, and counts the dropped ones by label."""

    label_field: str
    kept: tuple[str, ...]
    known: tuple[str, ...] = ()
    """All labels of the model, if known in advance."""

    def inputs(self) -> Sequence[str]:
        return (self.label_field,)

    def check(self) -> Iterable[str]:
        if not self.kept:
            yield "filter_by is empty, so every document would be dropped"
        yield from _unknown_labels(self.kept, self.known)

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        labels = task.data.column(self.label_field)
        stays = pc.fill_null(pc.is_in(labels, pa.array(self.kept, labels.type)), False)
        others = [label for label in pc.unique(labels).to_pylist() if label not in self.kept]
        if not others:
            return [task]
        outcomes: list[DocumentBatch | Dropped] = [task.with_data(task.data.filter(stays))]
        for label in others:
            mask = pc.is_null(labels) if label is None else pc.equal(labels, label)
            gone = task.data.filter(mask)
            reason = NO_LABEL if label is None else f"label is {label}"
            outcomes.append(Dropped(reason, gone.num_rows, partial(task.with_data, gone)))
        return outcomes


def label_filters(
    label_field: str, filter_by: list[str] | None, known: tuple[str, ...] = ()
) -> list[LabelFilter]:
    """Return the filter for the requested labels, or an empty list."""
    if filter_by is None:
        return []
    if isinstance(filter_by, str):
        raise PipelineError(
            f"filter_by is the text {filter_by!r}, but must be a list: [{filter_by}]"
        )
    return [LabelFilter(label_field, tuple(filter_by), known)]


def _unknown_labels(wanted: Sequence[str], known: Sequence[str]) -> Iterable[str]:
    for label in wanted:
        if known and label not in known:
            yield f"filter_by names the label {label!r}{hint(label, known)}"
