"""Removing: the last pass, which reads all rows again and drops duplicates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from curator_core import Dropped, WorkerInfo
from curator_core.io.filesystems import StorageOptions

from curator_dedup.hashes.decided import Decided
from curator_dedup.hashes.distances import Words
from curator_dedup.removal.decided import CLUSTER_COLUMNS


class Rows(Protocol):
    """The methods of a batch that `RemovesDuplicates` uses."""

    def with_columns(self, columns: Mapping[str, Any]) -> Self: ...

    def keep(self, mask: Sequence[bool], reason: str) -> "list[Self | Dropped]": ...


R = TypeVar("R", bound=Rows)


@dataclass
class RemovesDuplicates:
    """Mixin for stages that drop rows by decisions on their ids. All decisions are held in memory.

    A subclass is also a ProcessingStage; it defines the batches and the ids of their rows.
    """

    decisions: str
    """Folder of the decisions."""

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

    def left_of(self, batch: R, ids: Words) -> "list[R | Dropped]":
        known = batch.with_columns(self._decided.clusters(ids)) if self.clusters else batch
        return [*known.keep(self._decided.kept(ids), "duplicate")]
