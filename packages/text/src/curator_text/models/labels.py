"""Labels: turn a model's probabilities into labels, and filter documents by label."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, ProcessingStage
from curator_core.errors import PipelineError, hint
from curator_models.hub import ModelError, read_config
from curator_models.loading import (
    build_untrained,
    fill_network,
    load_pretrained,
    load_weights,
    read_labels,
)

from curator_text.models.base import ModelStage, TextModelSource

HeadKind: TypeAlias = Literal["first_token", "sequence"]
"""Architecture of a model: NVIDIA's first-token head, or one of transformers."""

NO_LABEL = "no text to label"


@dataclass(frozen=True)
class LabelFields:
    """Output columns for a label and its probabilities."""

    label: str
    score: str | None = None
    probabilities: str | None = None

    def columns(self) -> Sequence[str]:
        return [name for name in (self.label, self.score, self.probabilities) if name is not None]


@dataclass
class LabelModel(ModelStage):
    """Adds the most likely label, and its probability."""

    fields: LabelFields
    head_kind: HeadKind = "sequence"
    filter_by: tuple[str, ...] = ()
    base_model: TextModelSource | None = None
    """Source of the transformer's configuration, for models that only name it."""

    def outputs(self) -> Sequence[str]:
        return self.fields.columns()

    def check(self) -> Iterable[str]:
        yield from super().check()
        local = self.source.local_folder
        if local is not None:
            yield from _unknown_labels(self.filter_by, read_labels(local))

    def setup_on_node(self, node: Any) -> None:
        super().setup_on_node(node)
        folder = self.source.folder()
        if self.head_kind == "first_token" and "model_type" not in read_config(folder):
            self._find_base_model(folder).fetch(weights=False)

    def load(self, folder: Path) -> Any:
        self._labels = read_labels(folder)
        if problems := [*_unknown_labels(self.filter_by, self._labels)]:
            raise ModelError("\n".join(problems))
        return (
            self._load_first_token(folder)
            if self.head_kind == "first_token"
            else self._load_sequence(folder)
        )

    def _load_first_token(self, folder: Path) -> Any:
        from curator_text.models.networks import FirstTokenClassifier

        if not self._labels:
            raise ModelError(f"{folder / 'config.json'} does not name any labels (id2label)")
        has_config = "model_type" in read_config(folder)
        backbone = build_untrained(folder if has_config else self._find_base_model(folder).folder())
        network = FirstTokenClassifier(backbone, backbone.config.hidden_size, len(self._labels))
        return fill_network(network, load_weights(folder), folder)

    def _find_base_model(self, folder: Path) -> TextModelSource:
        if self.base_model is not None:
            return self.base_model
        base_name = read_config(folder).get("base_model")
        if not base_name:
            raise ModelError(
                f"{folder / 'config.json'} names neither model_type nor base_model: "
                "it is unknown which transformer these weights are for"
            )
        return TextModelSource(
            str(base_name), None, self.source.cache_dir, self.source.token_variable
        )

    def _load_sequence(self, folder: Path) -> Any:
        from curator_text.models.networks import SequenceOutputs

        model = load_pretrained("AutoModelForSequenceClassification", folder)
        config = model.config
        if config.num_labels == 1:
            raise ModelError(
                f"{folder} outputs one number and no labels: set label_field to null and "
                "score_field to a column for the number"
            )
        self._labels = [str(config.id2label[index]) for index in range(config.num_labels)]
        is_multi_label = config.problem_type == "multi_label_classification"
        return SequenceOutputs(model, "sigmoid" if is_multi_label else "softmax")

    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        best = [None if answer is None else int(answer.argmax()) for answer in answers]
        labels = [None if index is None else self._labels[index] for index in best]
        columns = {self.fields.label: pa.array(labels, pa.string())}
        if self.fields.score is not None:
            columns[self.fields.score] = pa.array(
                [
                    None if index is None else answer[index]
                    for answer, index in zip(answers, best, strict=True)
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

        model = load_pretrained("AutoModelForSequenceClassification", folder)
        if model.config.num_labels != 1:
            raise ModelError(
                f"{folder} outputs {model.config.num_labels} labels and not one number: "
                "set label_field to a column for the label"
            )
        return SequenceOutputs(model, "none")

    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
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
        is_kept = pc.fill_null(pc.is_in(labels, pa.array(self.kept, labels.type)), False)
        dropped_labels = [
            label for label in pc.unique(labels).to_pylist() if label not in self.kept
        ]
        if not dropped_labels:
            return [task]
        results: list[DocumentBatch | Dropped] = [task.with_data(task.data.filter(is_kept))]
        for label in dropped_labels:
            mask = pc.is_null(labels) if label is None else pc.equal(labels, label)
            dropped = task.data.filter(mask)
            reason = NO_LABEL if label is None else f"label is {label}"
            results.append(Dropped(reason, dropped.num_rows, partial(task.with_data, dropped)))
        return results


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


def _unknown_labels(requested: Sequence[str], known: Sequence[str]) -> Iterable[str]:
    for label in requested:
        if known and label not in known:
            yield f"unknown label {label!r} in filter_by{hint(label, known)}"
