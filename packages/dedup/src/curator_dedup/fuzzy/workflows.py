"""Finding and removing documents of nearly the same words in one call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from curator_core import Executor, FilePart, InputError, Pipeline, WorkflowResult
from curator_core.exchanges import ExchangeReader, ExchangeWriter
from curator_core.filesystems import join
from curator_core.runs.directory import RunDirectory
from curator_core.runs.locks import take_lock
from curator_core.stages import AnyStage

from curator_dedup.corpora import CorpusWorkflow, partitions_for
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.engines import is_compiled
from curator_dedup.folders import FolderWriter
from curator_dedup.fuzzy.clustering import Clustering, ClusterListing
from curator_dedup.fuzzy.deciding import ClusterDeciding
from curator_dedup.fuzzy.indexes import EntryListing, EntryReading
from curator_dedup.fuzzy.matching import ENTRIES, LINKS, BandListing, BandMatching
from curator_dedup.fuzzy.signing import DocumentSigning, SigningOptions
from curator_dedup.fuzzy.spreading import MOVED, Star
from curator_dedup.fuzzy.verifying import Gathering
from curator_dedup.indexes import Index, crawl_name, note_earlier
from curator_dedup.notes import write_note
from curator_dedup.partitions import PartitionListing, PartitionReading
from curator_dedup.removal.decided import CLUSTER_COLUMNS
from curator_dedup.removal.removing import Removing
from curator_dedup.removal.writing import DocumentWriter
from curator_dedup.reporting.curves import Curve

_PARTITION_BYTES = 1 << 30
"""So much text makes a partition of bands: a few hundred megabytes in memory."""

_INDEX_PARTITIONS = 16
"""An index keeps its number of partitions for good, so it begins with more."""


@dataclass
class FuzzyDeduplicationWorkflow(CorpusWorkflow):
    """Finds documents whose words are nearly the same, in JSON Lines and Parquet, and removes them.

    Documents that share a band of minhashes are linked, and all that hang together are a cluster;
    of each the first stays, by the order of paths and then of rows, or that of the highest
    priority. The same on every executor. Killed at any moment, it goes on where it was.
    """

    text_field: str = "text"
    """The field that is compared."""

    normalize: bool = True
    """Compare without regard to case, accents, punctuation, and the value of numbers."""

    word_ngrams: int | None = None
    """Documents are compared by their runs of so many words: 5, unless char_ngrams is given."""

    char_ngrams: int | None = None
    """Or by their runs of so many characters."""

    num_bands: int = 14
    """Documents that share any one of so many bands are linked."""

    minhashes_per_band: int = 8
    """Documents share a band when all of so many minhashes are the same."""

    seed: int = 42
    """Other seeds give other permutations, and so other accidents."""

    keep: Keep = "one"
    """Of each cluster: one stays, none of it, or all of it with a mark."""

    priority_field: str | None = None
    """A field with numbers: of each cluster the document with the highest stays."""

    verify: float | None = None
    """Documents go only if their exact Jaccard similarity to the one that stays is this or more."""

    keep_empty: bool = True
    """Whether documents without text stay. They are not each other's duplicates."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each document; by itself with `mark`."""

    index_path: str | None = None
    """A folder in which the bands of all crawls are kept: what an earlier one has, goes."""

    links_in_memory: int = 20_000_000
    """More links than that are followed through files instead; each takes some 60 bytes."""

    name = "fuzzy_deduplication"
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
    def curve(self) -> Curve:
        return Curve(self.num_bands, self.minhashes_per_band)

    @property
    def signing(self) -> SigningOptions:
        words = None if self.char_ngrams is not None else self.word_ngrams or 5
        return SigningOptions(
            words, self.char_ngrams, self.normalize, self.num_bands, self.minhashes_per_band,
            self.seed,
        )  # fmt: skip

    @property
    def index(self) -> Index | None:
        return None if self.index_path is None else Index(str(self.index_path), self.storage)

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from self._wrong_numbers()
        if self.word_ngrams is not None and self.char_ngrams is not None:
            yield "word_ngrams and char_ngrams are both set, but one must decide; drop one"
        if self.verify is not None and not 0 < self.verify <= 1:
            yield f"verify is {self.verify}, but must be above 0 and at most 1"
        if self.verify is not None and self.index_path is not None:
            yield (
                "verify needs the texts, which an index does not have; leave out verify or "
                "index_path, or take more minhashes_per_band to be stricter"
            )

    def _wrong_numbers(self) -> Iterator[str]:
        names = ("word_ngrams", "char_ngrams", "num_bands", "minhashes_per_band", "links_in_memory")
        for name in names:
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} is {value}, but must be 1 or more"
        if self.num_bands * self.minhashes_per_band > 1 << 16:
            yield (
                f"num_bands times minhashes_per_band is "
                f"{self.num_bands * self.minhashes_per_band:,}, but must be at most 65,536"
            )
        if not 0 <= self.seed < 1 << 64:
            yield f"seed is {self.seed}, but must be from 0 to 2**64 - 1"

    def run(
        self,
        executor: Executor | str | None = None,
        *,
        resume: bool = True,
        allow_empty: bool = False,
    ) -> WorkflowResult:
        is_compiled()  # an engine that is asked for in vain is told at once
        if self.index_path is None:
            return super().run(executor, resume=resume, allow_empty=allow_empty)
        self.refuse_problems(allow_empty=allow_empty)
        home = join(self.index_path, ".curator")
        RunDirectory(home, self.storage_options).create()
        lock = take_lock(home, self.storage_options)
        try:
            return super().run(executor, resume=resume, allow_empty=allow_empty)
        finally:
            lock.release()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        partitions = self._partitions(files)
        if self.index is not None:
            note_earlier(self.index, files, self._earlier)
        yield self._signing(partitions)
        self.refuse_unread(result, "sign")
        yield self._matching(partitions)
        yield from self._spreading(partitions)
        yield self._clustering(partitions)
        if self.verify is not None:
            yield self._gathering(partitions)
        yield self._deciding(partitions)
        self.refuse_changed(files)
        yield self._removing(partitions)
        if self.index is not None:
            yield self._indexing(self.index.crawl(crawl_name(files)))
        result.metadata |= self._counts()

    def _partitions(self, files: Sequence[FilePart]) -> int:
        fitting = partitions_for(sum(file.size for file in files), _PARTITION_BYTES)
        if self.index is None:
            return self.partitions or fitting
        wanted = self.partitions or max(_INDEX_PARTITIONS, 4 * fitting)
        kept = self.index.opened(self.signing, wanted)
        if self.partitions not in (None, kept):
            raise InputError(
                f"{self.name}: partitions is {self.partitions}, but the index {self.index_path} "
                f"has {kept}; leave partitions out, or give another index_path"
            )
        return kept

    @property
    def _earlier(self) -> str:
        return self.folder("earlier.json")

    @property
    def _labelled(self) -> str:
        return self.folder("labelled.json")

    @property
    def _links(self) -> str:
        return join(self.folder("matches"), LINKS)

    def _signing(self, partitions: int) -> Pipeline:
        signing = DocumentSigning(
            self.signing, self.text_field, self.priority_field, self.keep_empty,
            self.index is not None, self.storage,
        )  # fmt: skip
        writer = self._exchange("bands", "key", partitions)
        return Pipeline("sign", stages=[self.listing(), signing, writer])

    def _matching(self, partitions: int) -> Pipeline:
        has_index = self.index is not None
        listing = BandListing(
            self.folder("bands"), partitions, self._earlier if has_index else None, self.storage
        )
        matching = BandMatching(partitions, has_index, self.storage)
        writer = FolderWriter(self.folder("matches"), storage_options=self.storage)
        return self._later("match", [listing, matching, writer])

    def _spreading(self, partitions: int) -> Iterator[Pipeline]:
        """As many rounds as it takes, where the links are too many for memory."""
        if counts_in(self._links, self.storage)["links"] <= self.links_in_memory:
            write_note(self._labelled, None, self.storage)
            return
        yield self._star("both", 0, self._links, partitions)
        number, moved = 0, 1
        while moved:
            number += 1
            before = self.folder(f"stars/{number - 1}-{'small' if number > 1 else 'both'}")
            yield self._star("large", number, before, partitions)
            yield self._star("small", number, self.folder(f"stars/{number}-large"), partitions)
            folders = [self.folder(f"stars/{number}-{kind}") for kind in ("large", "small")]
            moved = sum(counts_in(folder, self.storage)[MOVED] for folder in folders)
        write_note(self._labelled, self.folder(f"stars/{number}-small"), self.storage)

    def _star(self, kind: Any, number: int, before: str, partitions: int) -> Pipeline:
        reader = ExchangeReader(before, partitions, ["doc", "to"], storage_options=self.storage)
        writer = self._exchange(f"stars/{number}-{kind}", "doc", partitions)
        return self._later(f"{kind}_{number}", [reader, Star(kind), writer])

    def _clustering(self, partitions: int) -> Pipeline:
        listing = ClusterListing(self._links, self._labelled, partitions, self.storage)
        key = "cluster" if self.verify is None else "block"
        writer = self._exchange("members", key, partitions)
        return self._later("cluster", [listing, Clustering(partitions, self.storage), writer])

    def _gathering(self, partitions: int) -> Pipeline:
        listing = self.decided_listing("members", partitions)
        gathering = Gathering(partitions, self.signing, self.text_field, self.storage)
        writer = self._exchange("shingled", "cluster", partitions)
        return self._later("gather", [listing, gathering, writer])

    def _deciding(self, partitions: int) -> Pipeline:
        folder = self.folder("members" if self.verify is None else "shingled")
        stages: list[AnyStage] = [
            PartitionListing(folder, partitions, self.storage),
            PartitionReading(partitions, self.storage),
            ClusterDeciding(self.keep, self.verify),
            self._exchange("decisions", "block", partitions),
        ]
        return self._later("decide", stages)

    def _removing(self, partitions: int) -> Pipeline:
        removing = Removing(
            partitions, self.text_field, self.output_format, self.has_clusters, self.storage
        )
        writer = DocumentWriter(
            self.output_path, self.mode, self.compression, storage_options=self.storage
        )
        listing = self.decided_listing("decisions", partitions)
        return Pipeline("remove", stages=[listing, removing, writer], on_error="fail")

    def _indexing(self, folder: str) -> Pipeline:
        listing = EntryListing(join(self.folder("matches"), ENTRIES), self.storage)
        writer = FolderWriter(folder, mode="overwrite", storage_options=self.storage)
        name = f"index_{folder.rpartition('/')[2][:12]}"
        return self._later(name, [listing, EntryReading(self.storage), writer])

    def _exchange(self, folder: str, key: str, partitions: int) -> ExchangeWriter:
        return ExchangeWriter(
            self.folder(folder),
            key=key,
            partitions=partitions,
            hashed=key != "block",
            storage_options=self.storage,
        )

    def _later(self, name: str, stages: list[AnyStage]) -> Pipeline:
        """A pipeline that has nothing to do where there are no duplicates."""
        return Pipeline(name, stages=stages, on_error="fail", allow_empty=True)

    def _counts(self) -> dict[str, int]:
        signed = counts_in(self.folder("bands"), self.storage)
        decided = counts_in(self.folder("decisions"), self.storage)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        counts = {name: signed[name] + decided[name] for name in names}
        if not self.keep_empty:
            counts["removed"] += counts["empty"]
        return {**counts, "kept": counts["documents"] - counts["removed"]}
