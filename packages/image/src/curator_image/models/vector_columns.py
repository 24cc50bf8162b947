"""Vector columns: write and read them, and score pictures by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core import InputError, ProcessingStage, attach_model

from curator_image.image_batch import ImageBatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def vector_column(vectors: Sequence[Any]) -> pa.Array:
    return pa.array(list(vectors), pa.list_(pa.float32()))


def vector_matrix(column: pa.ChunkedArray, name: str) -> "NDArray[np.float32]":
    """Return one row per picture; raise if vectors are missing or differ in length."""
    import numpy as np

    if not len(column):
        return np.zeros((0, 0), np.float32)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)):  # fmt: skip
        raise InputError(f"column {name!r} is {kind}, but must be lists of numbers")
    rows = column.to_pylist()
    lengths = {len(row) if row is not None else None for row in rows}
    if len(lengths) > 1 or lengths == {None}:
        raise InputError(f"column {name!r} must have a vector of the same length in every row")
    return np.array(rows, np.float32)


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
        dropped = {self.embedding_field} if self.drops_vectors else set()
        return None if before is None else (before - dropped) | frozenset(self.outputs())

    def scored(self, task: ImageBatch, scores: Sequence[float | None], model: str) -> ImageBatch:
        """Return the batch with its scores and the name of the model."""
        columns = {self.score_field: pa.array(scores, pa.float32())}
        if self.model_field is not None:
            columns[self.model_field] = pa.array([model] * task.num_items, pa.string())
        scored = task.with_columns(columns)
        if self.drops_vectors:
            scored = _drop_column(scored, self.embedding_field)
        attach_model(scored, model)
        return scored


def _drop_column(task: ImageBatch, name: str) -> ImageBatch:
    """Return the batch without a column, with its decoded pixels."""
    bare = task.with_data(task.data.drop_columns([name]))
    bare.derived.update(task.derived)
    return bare
