"""Training: the second pass, which finds centers for the sample."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, InputError, ProcessingStage, Resources
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import read_partition
from curator_core.model.resources import WorkerInfo

from curator_dedup.semantic.arithmetic import arithmetic_for
from curator_dedup.semantic.centers import Init, MiniBatchKMeans
from curator_dedup.semantic.vectors import Matrix, matrix_of, vector_column


@dataclass
class CenterTraining(ProcessingStage[FileGroup, DocumentBatch]):
    """Return one table with the center of each cluster: cluster and vector."""

    fans_out = False

    n_clusters: int
    size: int
    init: Init = "k-means++"
    max_iter: int = 20
    tol: float = 1e-4
    seed: int = 42
    resources: Resources = field(default_factory=Resources)
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._arithmetic = arithmetic_for(self.resources, worker)

    def process(self, task: FileGroup) -> DocumentBatch:
        tables = [read_partition(part, 1, None, self.storage_options) for part in task.data]
        _refuse_different(tables)
        rows = sample_of_tables(tables, self.size, self.n_clusters)
        training = MiniBatchKMeans(self.n_clusters, self.init, self.max_iter, self.tol, self.seed)
        centers = training.centers(rows, self._arithmetic)
        numbers = pa.array(range(len(centers)), pa.int32())
        return DocumentBatch(pa.table({"cluster": numbers, "vector": vector_column(centers)}))


def _refuse_different(tables: list[pa.Table]) -> None:
    first, *others = sorted(tables, key=lambda table: str(table["file"][0]))
    for table in others:
        sizes = [one.schema.field("vector").type.list_size for one in (first, table)]
        if sizes[0] != sizes[1]:
            places = [f"{one['file'][0]} (row {one['row'][0]})" for one in (first, table)]
            raise InputError(
                f"vectors have {sizes[0]} numbers in {places[0]}, but {sizes[1]} in {places[1]}; "
                "compare vectors of one model only"
            )


def sample_of_tables(tables: list[pa.Table], size: int, least: int) -> Matrix:
    """Return the vectors with the smallest lots of all blocks, sorted by lot."""
    united = pa.concat_tables([table.select(["lot", "cut", "vector"]) for table in tables])
    lots = united["lot"].to_numpy()
    order = np.argsort(lots, kind="stable")
    fair = int(np.searchsorted(lots[order], united["cut"].to_numpy().min(), side="right"))
    number = min(size, max(fair, least))  # better a biased sample than one that is too small
    return matrix_of(united["vector"].take(pa.array(order[:number])))
