"""Removal: read the rows again and drop the duplicates."""

from dataclasses import dataclass

from curator_core import Dropped, ProcessingStage
from curator_dedup.hashes.removing import RemovesDuplicates

from curator_audio.batches import AudioBatch
from curator_audio.duplicates.identities import ids_of


@dataclass
class DuplicateRemoving(RemovesDuplicates, ProcessingStage[AudioBatch, AudioBatch]):
    """Drop the rows that were decided to be duplicates."""

    def process(self, task: AudioBatch) -> list[AudioBatch | Dropped]:
        return self.left_of(task, ids_of(task))
