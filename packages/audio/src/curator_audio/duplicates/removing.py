"""Removing: the last pass, which reads all rows again and leaves out what was decided on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from curator_core import Dropped, ProcessingStage, WorkerInfo
from curator_core.filesystems import StorageOptions
from curator_dedup.hashes.decided import Decided
from curator_dedup.removal.decided import CLUSTER_COLUMNS

from curator_audio.batches import AudioBatch
from curator_audio.duplicates.identities import ids_of


@dataclass
class DuplicateRemoving(ProcessingStage[AudioBatch, AudioBatch]):
    """Keeps rows that no decision says to leave out. All decisions are in memory."""

    decisions: str
    """The folder with the decisions."""

    clusters: bool = False
    """Whether to add cluster_id, cluster_size and is_duplicate."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._decided = Decided()

    def outputs(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.clusters else ()

    def setup(self, worker: WorkerInfo) -> None:
        self._decided = Decided.read(
            self.decisions, self.storage_options, with_clusters=self.clusters
        )

    def teardown(self) -> None:
        self._decided = Decided()

    def process(self, task: AudioBatch) -> list[AudioBatch | Dropped]:
        ids = ids_of(task)
        batch = task.with_columns(self._decided.clusters(ids)) if self.clusters else task
        return [*batch.keep(self._decided.kept(ids), "duplicate")]
