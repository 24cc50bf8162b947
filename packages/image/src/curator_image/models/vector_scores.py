"""Stages that give a score to each picture by its vector in a column."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from curator_core import ProcessingStage
from curator_core.model.provenance import tell_model

from curator_image.batches import ImageBatch


@dataclass(kw_only=True)
class VectorScores(ProcessingStage[ImageBatch, ImageBatch]):
    """What a score by vectors adds to a batch, and takes away."""

    embedding_field: str
    score_field: str
    model_field: str | None = None
    drops_vectors: bool = False
    """Whether the vectors were made for it alone, and go with it."""

    def outputs(self) -> Sequence[str]:
        return (self.score_field, *([self.model_field] if self.model_field else ()))

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        gone = {self.embedding_field} if self.drops_vectors else set()
        return None if before is None else (before - gone) | frozenset(self.outputs())

    def scored(self, task: ImageBatch, scores: Sequence[float | None], model: str) -> ImageBatch:
        """The batch with its scores, which this model gave."""
        columns = {self.score_field: pa.array(scores, pa.float32())}
        if self.model_field is not None:
            columns[self.model_field] = pa.array([model] * task.num_items, pa.string())
        scored = task.with_columns(columns)
        if self.drops_vectors:
            scored = _without_column(scored, self.embedding_field)
        tell_model(scored, model)
        return scored


def _without_column(task: ImageBatch, name: str) -> ImageBatch:
    """The batch without one of its columns, with what was decoded of it."""
    bare = task.with_data(task.data.drop_columns([name]))
    bare.derived.update(task.derived)
    return bare
