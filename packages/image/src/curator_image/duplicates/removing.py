"""Removing: pictures are read once more, and those that were decided on are left out."""

from dataclasses import dataclass

from curator_core import Dropped, ProcessingStage
from curator_dedup.hashes.removing import RemovesDuplicates

from curator_image.batches import ImageBatch
from curator_image.duplicates.identities import ids_of


@dataclass
class DuplicateRemoving(RemovesDuplicates, ProcessingStage[ImageBatch, ImageBatch]):
    """Keeps pictures that no decision says to leave out."""

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        return self.left_of(task, ids_of(task))
