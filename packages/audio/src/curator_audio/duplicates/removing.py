"""Removing: rows are read once more, and those that were decided on are left out."""

from dataclasses import dataclass

from curator_core import Dropped, ProcessingStage
from curator_dedup.hashes.removing import RemovesDuplicates

from curator_audio.batches import AudioBatch
from curator_audio.duplicates.identities import ids_of


@dataclass
class DuplicateRemoving(RemovesDuplicates, ProcessingStage[AudioBatch, AudioBatch]):
    """Keeps rows that no decision says to leave out."""

    def process(self, task: AudioBatch) -> list[AudioBatch | Dropped]:
        return self.left_of(task, ids_of(task))
