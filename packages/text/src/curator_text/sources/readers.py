"""Readers: what those share whose way of reading has options of its own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers.base import FileReader, ReadingStage


class SourceReader(FileReader, ABC):
    """Lists files, and hands its own options on to what reads them."""

    @abstractmethod
    def reading_options(self) -> Sequence[Any]:
        """What `reading` takes besides what every one takes, in its order."""

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        return self.reading(
            self.fields,
            self.text_field,
            self.add_id,
            self.storage_options,
            listing,
            *self.reading_options(),
        )
