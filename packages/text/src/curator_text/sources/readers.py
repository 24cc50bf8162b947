"""Readers: base class for readers whose reading stage has options."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers.base import FileReader, ReadingStage


class SourceReader(FileReader, ABC):
    """Lists files and passes the reader's own options to its reading stage."""

    @abstractmethod
    def reading_options(self) -> Sequence[Any]:
        """Return the positional arguments for `reading` after the common ones."""

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        return self.reading(
            self.fields,
            self.text_field,
            self.add_id,
            self.storage_options,
            listing,
            *self.reading_options(),
        )
