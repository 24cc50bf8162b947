"""Text workflows: compare the texts of documents, optionally with those of earlier crawls."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_core import FilePart, InputError
from curator_core.run.locks import Home

from curator_dedup.clusters import ClusterWorkflow
from curator_dedup.corpora import partitions_for
from curator_dedup.indexes import Crawls, Index, crawl_output, note_crawls, output_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_log = logging.getLogger("curator_core.dedup")

_PARTITION_BYTES = 1 << 30
"""Bytes of input per partition, which take a few hundred megabytes of hashes in memory."""

_INDEX_PARTITIONS = 16
"""Minimum number of partitions of a new index, which can never change it."""


@dataclass
class TextWorkflow(ClusterWorkflow):
    """A workflow that can add what it compared to an index."""

    text_field: str = "text"
    """Field to compare."""

    priority_field: str | None = None
    """Field with numbers: of duplicates, the document with the highest is kept."""

    index_path: str | None = None
    """Folder that records the hashes of all crawls. Duplicates of earlier crawls are removed."""

    @property
    @abstractmethod
    def index_options(self) -> "DataclassInstance":
        """Options that must be equal for two crawls to be comparable."""

    @property
    def named_fields(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field, "priority_field": self.priority_field}

    @property
    def index(self) -> Index | None:
        return None if self.index_path is None else Index(str(self.index_path), self.storage)

    @property
    def earlier(self) -> str | None:
        """Path of the note on the crawls that this one is compared with; None without an index."""
        return None if self.index_path is None else self.folder("earlier.json")

    def crawls_of(self, files: Sequence[FilePart]) -> Crawls | None:
        """Return the crawl that is added to the index, and those it is compared with."""
        if self.index is None or self.earlier is None:
            return None
        overwrites = self.mode == "overwrite"
        return note_crawls(self.index, files, self.earlier, self.output_path, overwrites=overwrites)

    def homes(self) -> Iterable[Home]:
        """Lock the index too: two crawls at a time would not see each other's documents."""
        yield from super().homes()
        if self.index_path is not None:
            yield Home(str(self.index_path), "index", "index_path")

    def partitions_of(self, files: Sequence[FilePart]) -> int:
        """Return the number of partitions; with an index, that of the index."""
        fitting = partitions_for(sum(file.size for file in files), _PARTITION_BYTES)
        if self.index is None or self.earlier is None:
            return self.partitions or fitting
        wanted = self.partitions or max(_INDEX_PARTITIONS, 4 * fitting)
        kept = self.index.opened(self.index_options, wanted)
        if self.partitions not in (None, kept):
            raise InputError(
                f"{self.name}: partitions is {self.partitions}, but the index {self.index_path} "
                f"has {kept}; leave partitions out, or give another index_path"
            )
        return kept

    def counts(self, compared: str) -> dict[str, int]:
        """Add empty texts, which have no decisions."""
        counts = super().counts(compared)
        gone = 0 if self.keep_empty else counts["empty"]
        return {**counts, "removed": counts["removed"] + gone, "kept": counts["kept"] - gone}

    def warn_of_known(self, counts: Mapping[str, int], crawls: Crawls) -> None:
        """Warn if nothing is left because the index has all of it.

        The likely cause is an output that was deleted to start over, while the index still has its
        crawl.
        """
        if not counts["documents"] or counts["kept"] or counts["groups"] == 0:
            return
        if not crawls.earlier:
            return
        own = output_name(self.output_path, self.storage)
        before = [crawl for crawl in crawls.earlier if crawl_output(crawl) == own]
        told = f"{self.name}: nothing is left: earlier crawls of the index have all of it"
        if before:
            told += (
                f"; the last one into {self.output_path} is {before[-1]}: if its result was "
                f"deleted and not moved, remove that folder and {self.work_dir}, and run again"
            )
        _log.warning("%s", told)
