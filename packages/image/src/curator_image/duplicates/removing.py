"""Removing: the last pass, which reads all pictures again and leaves out what was decided on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from curator_core import Dropped, ProcessingStage, WorkerInfo
from curator_core.filesystems import StorageOptions, open_input
from curator_dedup.folders import files_in
from curator_dedup.removal.decided import CLUSTER_COLUMNS

from curator_image.batches import ImageBatch
from curator_image.duplicates.identities import ids_in, ids_of
from curator_image.duplicates.neighbours import Rows

_COLUMNS = ["doc", "keep", "is_duplicate", "cluster", "size"]
_NOTHING = pa.table(
    {
        "doc": pa.array([], pa.binary(8)),
        "keep": pa.array([], pa.bool_()),
        "is_duplicate": pa.array([], pa.bool_()),
        "cluster": pa.array([], pa.binary(8)),
        "size": pa.array([], pa.int64()),
    }
)


@dataclass
class DuplicateRemoving(ProcessingStage[ImageBatch, ImageBatch]):
    """Keeps pictures that no decision says to leave out. All decisions are in memory."""

    decisions: str
    """The folder with the decisions."""

    clusters: bool = False
    """Whether to add cluster_id, cluster_size and is_duplicate."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._decided = _NOTHING

    def outputs(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.clusters else ()

    def setup(self, worker: WorkerInfo) -> None:
        import pyarrow.parquet as pq

        names = _COLUMNS if self.clusters else _COLUMNS[:2]
        tables = [_NOTHING.select(names)]
        for part in files_in(self.decisions, self.storage_options):
            with open_input(part.path, self.storage_options) as source:
                read = pq.read_table(source, columns=names)
            tables.append(read.replace_schema_metadata(None))
        decided = pa.concat_tables(tables).combine_chunks()
        self._decided = decided.take(pa.array(np.argsort(ids_in(decided["doc"]))))

    def teardown(self) -> None:
        self._decided = _NOTHING

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        places = self._places(task)
        batch = self._marked(task, places) if self.clusters else task
        keeps = self._decided["keep"].to_numpy()
        flags = [place < 0 or bool(keeps[place]) for place in places.tolist()]
        return [*batch.keep(flags, "duplicate")]

    def _places(self, task: ImageBatch) -> Rows:
        """For each picture the row of the decision on it, or -1."""
        ids, known = ids_of(task), ids_in(self._decided["doc"])
        if not len(known):
            return np.full(len(ids), -1)
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.asarray(np.where(known[places] == ids, places, -1))

    def _marked(self, task: ImageBatch, places: Rows) -> ImageBatch:
        rows = pa.array(places, pa.int64(), mask=places < 0)
        chosen = self._decided.take(rows)
        clusters = [value and value.hex() for value in chosen["cluster"].to_pylist()]
        return task.with_columns(
            {
                "cluster_id": pa.array(clusters, pa.string()),
                "cluster_size": chosen["size"].fill_null(1).combine_chunks(),
                "is_duplicate": chosen["is_duplicate"].fill_null(False).combine_chunks(),
            }
        )
