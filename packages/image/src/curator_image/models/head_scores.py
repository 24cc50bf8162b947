"""Scores that a head gives to vectors in a column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from curator_core import InputError, ProcessingStage, WorkerInfo
from curator_core.models import tell_model
from curator_core.places import NodeInfo
from curator_models.digests import digest_of
from curator_models.weights import WeightsFile

from curator_image.batches import ImageBatch
from curator_image.models.heads import Shape, head_in
from curator_image.models.vectors import matrix_of


@dataclass(kw_only=True)
class HeadScores(ProcessingStage[ImageBatch, ImageBatch]):
    """Reads vectors of CLIP, adds a score for each."""

    weights: WeightsFile
    shape: Shape
    embedding_field: str
    score_field: str
    model_field: str | None = None
    drops_vectors: bool = False
    """Whether the vectors were made for it alone, and go with it."""

    def inputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def outputs(self) -> Sequence[str]:
        return (self.score_field, *([self.model_field] if self.model_field else ()))

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        gone = {self.embedding_field} if self.drops_vectors else set()
        return None if before is None else (before - gone) | frozenset(self.outputs())

    def check(self) -> Iterable[str]:
        yield from self.weights.problems()

    def setup_on_node(self, node: NodeInfo) -> None:
        self.weights.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        file = self.weights.file()
        self._head = head_in(file, self.shape)
        self._known_as = f"{file.name} sha256:{digest_of([file])}"

    def teardown(self) -> None:
        vars(self).pop("_head", None)

    def process(self, task: ImageBatch) -> ImageBatch:
        vectors = matrix_of(task.data.column(self.embedding_field), self.embedding_field)
        if task.num_items and vectors.shape[1] != self._head.width:
            raise InputError(
                f"the vectors in {self.embedding_field!r} have {vectors.shape[1]} numbers, but the "
                f"head wants {self._head.width}: it belongs to another model (LAION's heads to "
                "openai/clip-vit-large-patch14, 768)"
            )
        scores = self._head.scores(vectors).tolist() if task.num_items else []
        columns = {self.score_field: pa.array(scores, pa.float32())}
        if self.model_field is not None:
            columns[self.model_field] = pa.array([self._known_as] * task.num_items, pa.string())
        scored = task.with_columns(columns)
        if self.drops_vectors:
            scored = without_column(scored, self.embedding_field)
        tell_model(scored, self._known_as)
        return scored


def without_column(task: ImageBatch, name: str) -> ImageBatch:
    """The batch without one of its columns, with what was decoded of it."""
    bare = task.with_data(task.data.drop_columns([name]))
    bare.derived.update(task.derived)
    return bare
