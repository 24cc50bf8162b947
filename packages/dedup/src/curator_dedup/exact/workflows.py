"""Find and remove exact duplicates in one call."""

from collections.abc import Iterator
from dataclasses import dataclass

from curator_core import Pipeline, WorkflowResult
from curator_core.io.shuffle import ExchangeReader
from curator_core.model.stages import AnyStage

from curator_dedup.exact.deciding import DuplicateDeciding
from curator_dedup.exact.hashing import DocumentHashing
from curator_dedup.exact.indexes import HashListing, HashOptions, HashReading, HashRemembering
from curator_dedup.folders import FolderWriter
from curator_dedup.indexes import Crawls
from curator_dedup.texts import TextWorkflow


@dataclass
class ExactDeduplicationWorkflow(TextWorkflow):
    """Find documents with equal texts in JSON Lines and Parquet, and remove them.

    Of equal documents the first is kept, by path and then by row, or the one with the highest
    priority, whatever the executor. If a run is interrupted, run it again to resume.
    """

    input_blocksize: int | str = "1GB"
    """Approximate maximum of input per task; small inputs are split more finely."""

    normalize: bool = False
    """Ignore case, whitespace and forms of accents when comparing; the text itself is unchanged."""

    name = "exact_deduplication"

    @property
    def index_options(self) -> HashOptions:
        return HashOptions(normalize=self.normalize)

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        partitions = self.partitions_of(files)
        crawls = self.crawls_of(files)
        yield self._hashing(partitions)
        self.refuse_unread(result, "hash")
        self.refuse_lacking("hashes")
        yield self._deciding(partitions)
        self.refuse_changed(files)
        yield self.removing(partitions)
        result.metadata |= self.counts("hashes")
        if self.earlier is not None and crawls is not None:
            yield self._indexing(partitions, self.earlier, crawls)
            self.warn_of_known(result.metadata, crawls)

    def _hashing(self, partitions: int) -> Pipeline:
        hashing = DocumentHashing(
            self.text_field, self.normalize, self.priority_field, self.storage,
            self.index is not None,
        )  # fmt: skip
        writer = self.exchange("hashes", "hash", partitions, hashed=True)
        return Pipeline("hash", stages=[self.listing(), hashing, writer])

    def _deciding(self, partitions: int) -> Pipeline:
        deciding = DuplicateDeciding(self.keep, self.keep_empty)
        writer = self.exchange("decisions", "block", partitions)
        return self.later("decide", [*self._reading(partitions), deciding, writer])

    def _reading(self, partitions: int) -> list[AnyStage]:
        """Return the stages that read equal hashes together, including those of earlier crawls."""
        folder, options = self.folder("hashes"), self.storage
        if self.earlier is None:
            return [ExchangeReader(folder, partitions, storage_options=options)]
        listing = HashListing(folder, partitions, self.earlier, options)
        return [listing, HashReading(partitions, options)]

    def _indexing(self, partitions: int, earlier: str, crawls: Crawls) -> Pipeline:
        listing = HashListing(self.folder("hashes"), partitions, earlier, self.storage)
        remembering = HashRemembering(partitions, self.storage)
        writer = FolderWriter(crawls.own, mode="overwrite", storage_options=self.storage)
        return self.later("index", [listing, remembering, writer])
