"""Scores from a head over vectors in a column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curator_core import InputError, WorkerInfo
from curator_core.model.resources import NodeInfo
from curator_models.digests import digest_of
from curator_models.weights import WeightsFile

from curator_image.batches import ImageBatch
from curator_image.models.heads import Shape, head_in
from curator_image.models.vector_scores import VectorScores
from curator_image.models.vectors import matrix_of


@dataclass(kw_only=True)
class HeadScores(VectorScores):
    """Read CLIP vectors and add a score for each."""

    weights: WeightsFile
    shape: Shape

    def inputs(self) -> Sequence[str]:
        return (self.embedding_field,)

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
        return self.scored(task, scores, self._known_as)
