"""Finding and removing exact duplicates in one call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from curator_core import Executor, FilePart, InputError, Pipeline, WorkflowResult
from curator_core.exchanges import ExchangeReader, ExchangeWriter
from curator_core.stages import AnyStage

from curator_dedup.corpora import CorpusWorkflow, partitions_for
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.exact.deciding import DuplicateDeciding
from curator_dedup.exact.hashing import DocumentHashing
from curator_dedup.removal.decided import CLUSTER_COLUMNS
from curator_dedup.removal.removing import Removing
from curator_dedup.removal.writing import DocumentWriter

if TYPE_CHECKING:
    from curator_dedup.indexes import Index

_PARTITION_BYTES = 1 << 30
"""So much text makes a partition of hashes: some ten to a few hundred megabytes in memory."""


@dataclass
class ExactDeduplicationWorkflow(CorpusWorkflow):
    """Finds documents whose texts are equal, in files of JSON Lines and Parquet, and removes them.

    Of equal documents the first stays, by the order of paths and then of rows, or that of the
    highest priority: the same on every executor. Killed at any moment, it goes on where it was.
    """

    text_field: str = "text"
    """The field that is compared."""

    input_blocksize: int | str = "1GB"
    """About how much of the input is one task at most; small inputs are divided more finely."""

    keep: Keep = "one"
    """Of equal documents: one stays, none of them, or all of them with a mark."""

    priority_field: str | None = None
    """A field with numbers: of equal documents the one with the highest stays."""

    normalize: bool = False
    """Compare without regard to case, spaces, and forms of accents; the text itself is kept."""

    keep_empty: bool = True
    """Whether documents without text stay. They are not each other's duplicates."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each document; by itself with `mark`."""

    index_path: str | None = None
    """A folder in which the hashes of all crawls are kept: what an earlier one has, goes."""

    name = "exact_deduplication"
    added_columns = CLUSTER_COLUMNS

    @property
    def named_fields(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field, "priority_field": self.priority_field}

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {**super().choices, "keep": get_args(Keep)}

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    @property
    def columns_to_add(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.has_clusters else ()

    @property
    def index(self) -> "Index | None":
        if self.index_path is None:
            return None
        from curator_dedup.indexes import Index  # only where there is one: a quicker start

        return Index(str(self.index_path), self.storage)

    def run(
        self,
        executor: Executor | str | None = None,
        *,
        resume: bool = True,
        allow_empty: bool = False,
    ) -> WorkflowResult:
        if self.index_path is None:
            return super().run(executor, resume=resume, allow_empty=allow_empty)
        from curator_dedup.indexes import held

        self.refuse_problems(allow_empty=allow_empty)
        with held(str(self.index_path), self.storage):
            return super().run(executor, resume=resume, allow_empty=allow_empty)

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        partitions = self._partitions(files)
        self._note_earlier(files)
        yield self._hashing(partitions)
        self.refuse_unread(result, "hash")
        yield self._deciding(partitions)
        self.refuse_changed(files)
        yield self._removing(partitions)
        if self.index is not None:
            yield self._indexing(self.index, files, partitions)
        result.metadata |= self._counts()

    def _partitions(self, files: Sequence[FilePart]) -> int:
        fitting = partitions_for(sum(file.size for file in files), _PARTITION_BYTES)
        if self.index is None:
            return self.partitions or fitting
        from curator_dedup.exact.indexes import PARTITIONS, HashOptions

        wanted = self.partitions or max(PARTITIONS, 4 * fitting)
        kept = self.index.opened(HashOptions(normalize=self.normalize), wanted)
        if self.partitions not in (None, kept):
            raise InputError(
                f"{self.name}: partitions is {self.partitions}, but the index {self.index_path} "
                f"has {kept}; leave partitions out, or give another index_path"
            )
        return kept

    def _note_earlier(self, files: Sequence[FilePart]) -> None:
        if self.index is not None:
            from curator_dedup.indexes import note_earlier

            note_earlier(self.index, files, self._earlier)

    @property
    def _earlier(self) -> str:
        return self.folder("earlier.json")

    def _hashing(self, partitions: int) -> Pipeline:
        options = self.storage_options
        hashing = DocumentHashing(
            self.text_field, self.normalize, self.priority_field, options, self.index is not None
        )
        writer = ExchangeWriter(
            self.folder("hashes"),
            key="hash",
            partitions=partitions,
            hashed=True,
            storage_options=options,
        )
        return Pipeline("hash", stages=[self.listing(), hashing, writer])

    def _deciding(self, partitions: int) -> Pipeline:
        options = self.storage_options
        writer = ExchangeWriter(
            self.folder("decisions"), key="block", partitions=partitions, storage_options=options
        )
        deciding = DuplicateDeciding(self.keep, self.keep_empty)
        stages = [*self._reading(partitions), deciding, writer]
        return Pipeline("decide", stages=stages, on_error="fail", allow_empty=True)

    def _reading(self, partitions: int) -> list[AnyStage]:
        """What brings together equal hashes; with an index, those of earlier crawls too."""
        folder, options = self.folder("hashes"), self.storage_options
        if self.index is None:
            return [ExchangeReader(folder, partitions, storage_options=options)]
        from curator_dedup.exact.indexes import HashListing, HashReading

        listing = HashListing(folder, partitions, self._earlier, options)
        return [listing, HashReading(partitions, options)]

    def _indexing(self, index: "Index", files: Sequence[FilePart], partitions: int) -> Pipeline:
        from curator_dedup.exact.indexes import HashListing, HashRemembering
        from curator_dedup.folders import FolderWriter
        from curator_dedup.indexes import crawl_name

        name, options = crawl_name(files), self.storage_options
        folder = index.crawl(name)
        listing = HashListing(self.folder("hashes"), partitions, self._earlier, options)
        writer = FolderWriter(folder, mode="overwrite", storage_options=options)
        stages: list[AnyStage] = [listing, HashRemembering(partitions, options), writer]
        return Pipeline(f"index_{name[:12]}", stages=stages, on_error="fail", allow_empty=True)

    def _removing(self, partitions: int) -> Pipeline:
        options = self.storage_options
        removing = Removing(
            partitions, self.text_field, self.output_format, self.has_clusters, options
        )
        writer = DocumentWriter(
            self.output_path, self.mode, self.compression, storage_options=options
        )
        listing = self.decided_listing("decisions", partitions)
        return Pipeline("remove", stages=[listing, removing, writer], on_error="fail")

    def _counts(self) -> dict[str, int]:
        hashed = counts_in(self.folder("hashes"), self.storage_options)
        decided = counts_in(self.folder("decisions"), self.storage_options)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        counts = {name: hashed[name] + decided[name] for name in names}
        if not self.keep_empty:
            counts["removed"] += counts["empty"]
        return {**counts, "kept": counts["documents"] - counts["removed"]}
