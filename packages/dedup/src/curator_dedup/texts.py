"""Texts: workflows that compare the texts of documents, with those of earlier crawls besides."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_core import FilePart, InputError
from curator_core.runs.locks import Home

from curator_dedup.clusters import ClusterWorkflow
from curator_dedup.corpora import partitions_for
from curator_dedup.indexes import Index, crawl_name, note_earlier

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PARTITION_BYTES = 1 << 30
"""So much text makes a partition: a few hundred megabytes of hashes in memory."""

_INDEX_PARTITIONS = 16
"""An index keeps its number of partitions for good, so it begins with more."""


@dataclass
class TextWorkflow(ClusterWorkflow):
    """A workflow that leaves an index of what it compared, where that is wanted."""

    text_field: str = "text"
    """The field that is compared."""

    priority_field: str | None = None
    """A field with numbers: of duplicates the one with the highest stays."""

    index_path: str | None = None
    """A folder that remembers all crawls by their hashes: what an earlier one has, goes."""

    @property
    @abstractmethod
    def index_options(self) -> "DataclassInstance":
        """What must be the same for two crawls to be comparable."""

    @property
    def named_fields(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field, "priority_field": self.priority_field}

    @property
    def index(self) -> Index | None:
        return None if self.index_path is None else Index(str(self.index_path), self.storage)

    @property
    def earlier(self) -> str | None:
        """The note of which crawls an index had before this one; None without an index."""
        return None if self.index_path is None else self.folder("earlier.json")

    def homes(self) -> Iterable[Home]:
        """One crawl at a time in an index: two would not see each other's documents."""
        yield from super().homes()
        if self.index_path is not None:
            yield Home(str(self.index_path), "index", "index_path")

    def partitions_of(self, files: Sequence[FilePart]) -> int:
        """How many partitions; with an index as many as it has, and the earlier are noted."""
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
        note_earlier(self.index, files, self.earlier)
        return kept

    def crawl(self, files: Sequence[FilePart]) -> tuple[str, str]:
        """The name of the pipeline that adds this crawl to the index, and the folder for it."""
        name = crawl_name(files)
        return f"index_{name[:12]}", Index(str(self.index_path)).crawl(name)

    def counts(self, compared: str) -> dict[str, int]:
        """Empty texts are not among the decisions."""
        counts = super().counts(compared)
        gone = 0 if self.keep_empty else counts["empty"]
        return {**counts, "removed": counts["removed"] + gone, "kept": counts["kept"] - gone}
