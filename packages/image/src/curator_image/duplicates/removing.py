"""Duplicate removal: read the pictures again and leave out the duplicates."""

from dataclasses import dataclass

from curator_core import Dropped, ProcessingStage
from curator_dedup.hashes.removing import RemovesDuplicates

from curator_image.batches import ImageBatch
from curator_image.duplicates.identities import ids_of


@dataclass
class DuplicateRemoving(RemovesDuplicates, ProcessingStage[ImageBatch, ImageBatch]):
    """Drop the pictures that a decision marks as duplicates."""

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        return self.left_of(task, ids_of(task))
