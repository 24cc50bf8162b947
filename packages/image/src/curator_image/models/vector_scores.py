"""Base of stages that score pictures by their vectors in a column."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from curator_core import ProcessingStage
from curator_core.model.provenance import tell_model

from curator_image.batches import ImageBatch


@dataclass(kw_only=True)
class VectorScores(ProcessingStage[ImageBatch, ImageBatch]):
    """Base class of scores by vectors: the columns they add and remove."""

    embedding_field: str
    score_field: str
    model_field: str | None = None
    drops_vectors: bool = False
    """Whether the vectors were made only for this stage, and are dropped afterwards."""

    def outputs(self) -> Sequence[str]:
        return (self.score_field, *([self.model_field] if self.model_field else ()))

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        gone = {self.embedding_field} if self.drops_vectors else set()
        return None if before is None else (before - gone) | frozenset(self.outputs())

    def scored(self, task: ImageBatch, scores: Sequence[float | None], model: str) -> ImageBatch:
        """Return the batch with its scores and the name of the model."""
        columns = {self.score_field: pa.array(scores, pa.float32())}
        if self.model_field is not None:
            columns[self.model_field] = pa.array([model] * task.num_items, pa.string())
        scored = task.with_columns(columns)
        if self.drops_vectors:
            scored = _without_column(scored, self.embedding_field)
        tell_model(scored, model)
        return scored


def _without_column(task: ImageBatch, name: str) -> ImageBatch:
    """Return the batch without a column, with its decoded pixels."""
    bare = task.with_data(task.data.drop_columns([name]))
    bare.derived.update(task.derived)
    return bare
