"""Find and remove documents with nearly the same words in one call."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from curator_core import AnyStage, Pipeline, WorkflowResult
from curator_core.io.filesystems import join
from curator_core.io.shuffle import ExchangeReader, ExchangeWriter

from curator_dedup.cluster_workflow import IndexedWorkflow
from curator_dedup.fuzzy.clusters import (
    KNOWN,
    MEMBERS,
    MOVED,
    ClusterDeciding,
    Clustering,
    ClusterListing,
    Star,
)
from curator_dedup.fuzzy.index import (
    ENTRIES,
    MAX_KNOWN,
    SETS,
    DocumentIndexing,
    EarlierReading,
    IndexOptions,
)
from curator_dedup.fuzzy.lsh import BandMatching
from curator_dedup.fuzzy.minhash import DocumentSigning, SigningOptions, is_compiled
from curator_dedup.fuzzy.verify import ShingleReading
from curator_dedup.index import Crawls
from curator_dedup.intermediate_files import FolderWriter, counts_in, write_note
from curator_dedup.option_checks import too_small
from curator_dedup.passes.list import PartitionListing, PartitionReading
from curator_dedup.report.clusters import Verification
from curator_dedup.report.curve import BandCurve


@dataclass
class FuzzyDeduplicationWorkflow(IndexedWorkflow):
    """Find documents with nearly the same words, and remove them.

    Reads JSON Lines and Parquet. Documents that share a band of minhashes are linked, and connected
    documents form a cluster. Of each cluster the first document is kept, by path and then by row,
    or the one with the highest priority, whatever the executor. If a run is interrupted, run it
    again to resume.
    """

    normalize: bool = True
    """Ignore case, accents, punctuation and the values of digits when comparing."""

    word_ngrams: int | None = None
    """Compare runs of this many words: 5 if neither this nor char_ngrams is set."""

    char_ngrams: int | None = None
    """Compare runs of this many characters instead of words."""

    num_bands: int = 14
    """Number of bands; documents that share at least one of them are linked."""

    minhashes_per_band: int = 8
    """Minhashes per band; documents share a band if all of its minhashes are equal."""

    seed: int = 42
    """Seed of the random permutations."""

    verify: float | None = 0.6
    """Minimum exact Jaccard similarity to the document that is kept; documents below it are not
    removed. null removes all documents that share a band, similar or not."""

    links_in_memory: int = 20_000_000
    """Maximum number of links to hold in memory, about 60 bytes each; files are used for more."""

    name = "fuzzy_deduplication"

    @property
    def curve(self) -> BandCurve:
        return BandCurve(self.num_bands, self.minhashes_per_band)

    @property
    def signing(self) -> SigningOptions:
        words = None if self.char_ngrams is not None else self.word_ngrams or 5
        return SigningOptions(
            words, self.char_ngrams, self.normalize, self.num_bands, self.minhashes_per_band,
            self.seed,
        )  # fmt: skip

    @property
    def index_options(self) -> IndexOptions:
        return IndexOptions(**asdict(self.signing), verified=self.verify is not None)

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from self._wrong_numbers()
        if self.word_ngrams is not None and self.char_ngrams is not None:
            yield "word_ngrams and char_ngrams are both set; set only one of them"
        if self.verify is not None and not 0 < self.verify <= 1:
            yield f"verify is {self.verify}, but must be above 0 and at most 1"

    def _wrong_numbers(self) -> Iterator[str]:
        names = ("word_ngrams", "char_ngrams", "num_bands", "minhashes_per_band", "links_in_memory")
        yield from too_small(self, names)
        if self.num_bands * self.minhashes_per_band > 1 << 16:
            yield (
                f"num_bands times minhashes_per_band is "
                f"{self.num_bands * self.minhashes_per_band:,}, but must be at most 65,536"
            )
        if not 0 <= self.seed < 1 << 64:
            yield f"seed is {self.seed}, but must be from 0 to 2**64 - 1"

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Also refuse a configured engine that is not available."""
        is_compiled()
        super().refuse_problems(allow_empty=allow_empty)

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        partitions = self.partitions_for_input(files)
        crawls = self.record_crawls(files)
        yield self._sign(partitions)
        self.refuse_unreadable_files(result, "sign")
        self.check_missing_fields("bands")
        yield self._match(partitions)
        yield from self._contract_links(partitions)
        yield self._cluster(partitions)
        if self.verify is not None:
            yield self._read_shingles(partitions)
        if self._compares_earlier:
            yield self._read_earlier(partitions)
        yield self._decide(partitions)
        self.refuse_changed_input(files)
        yield self.remove(partitions)
        result.metadata |= self.counts("bands")
        if crawls is not None:
            yield self._add_to_index(partitions, crawls)
            self.warn_if_all_known(result.metadata, crawls)

    @property
    def _stars_note(self) -> str:
        return self.folder("labelled.json")

    @property
    def _links(self) -> str:
        return self.folder("links")

    @property
    def _compares_earlier(self) -> bool:
        """Whether to compare with documents of earlier crawls too."""
        return self.verify is not None and self.earlier is not None

    def _sign(self, partitions: int) -> Pipeline:
        signing = DocumentSigning(
            self.signing, self.text_field, self.priority_field, self.keep_empty,
            self.index is not None, self.storage,
        )  # fmt: skip
        writer = self._by_hash("bands", "key", partitions)
        return Pipeline("sign", stages=[self.listing(), signing, writer])

    def _match(self, partitions: int) -> Pipeline:
        listing = PartitionListing(
            [self.folder("bands")], partitions, self.earlier, ENTRIES, self.storage
        )
        most = MAX_KNOWN if self._compares_earlier else 1
        matching = BandMatching(partitions, self.index is not None, most, self.storage)
        return self.intermediate_pipeline(
            "match", [listing, matching, self._by_hash("links", "doc", partitions)]
        )

    def _contract_links(self, partitions: int) -> Iterator[Pipeline]:
        """Yield rounds until nothing changes, if the links do not fit in memory."""
        if counts_in(self._links, self.storage)["links"] <= self.links_in_memory:
            write_note(self._stars_note, None, self.storage)
            return
        yield self._star("both", 0, self._links, partitions)
        number, moved = 0, 1
        while moved:
            number += 1
            previous = self.folder(f"stars/{number - 1}-{'small' if number > 1 else 'both'}")
            yield self._star("large", number, previous, partitions)
            yield self._star("small", number, self.folder(f"stars/{number}-large"), partitions)
            folders = [self.folder(f"stars/{number}-{kind}") for kind in ("large", "small")]
            moved = sum(counts_in(folder, self.storage)[MOVED] for folder in folders)
        write_note(self._stars_note, self.folder(f"stars/{number}-small"), self.storage)

    def _star(self, kind: Any, number: int, links: str, partitions: int) -> Pipeline:
        reader = ExchangeReader(links, partitions, ["doc", "to"], storage_options=self.storage)
        writer = self._by_hash(f"stars/{number}-{kind}", "doc", partitions)
        return self.intermediate_pipeline(f"{kind}_{number}", [reader, Star(kind), writer])

    def _cluster(self, partitions: int) -> Pipeline:
        listing = ClusterListing(self._links, self._stars_note, partitions, self.storage)
        clustering = Clustering(partitions, self._compares_earlier, self.storage)
        key = "cluster" if self.verify is None else "block"
        writer: AnyStage = self._by_hash("members", key, partitions)
        if self._compares_earlier:
            writer = FolderWriter(self.folder("clusters"), storage_options=self.storage)
        return self.intermediate_pipeline("cluster", [listing, clustering, writer])

    def _read_shingles(self, partitions: int) -> Pipeline:
        listing = self.listing_with_decisions(
            join("clusters", MEMBERS) if self._compares_earlier else "members", partitions
        )
        reading = ShingleReading(partitions, self.signing, self.text_field, self.storage)
        writer = self._by_hash("shingled", "cluster", partitions)
        return self.intermediate_pipeline("gather", [listing, reading, writer])

    def _read_earlier(self, partitions: int) -> Pipeline:
        """Return the pipeline that reads earlier documents, whose shingles are in the index."""
        known = join(self.folder("clusters"), KNOWN)
        listing = PartitionListing([known], partitions, self.earlier, SETS, self.storage)
        reading = EarlierReading(partitions, self.storage)
        writer = self._by_hash("recalled", "cluster", partitions)
        return self.intermediate_pipeline("recall", [listing, reading, writer])

    def _decide(self, partitions: int) -> Pipeline:
        names = ["members"] if self.verify is None else ["shingled"]
        names += ["recalled"] if self._compares_earlier else []
        folders = [self.folder(name) for name in names]
        stages: list[AnyStage] = [
            PartitionListing(folders, partitions, storage_options=self.storage),
            PartitionReading(partitions, self.storage),
            ClusterDeciding(self.keep, self.verify),
            self._by_hash("decisions", "block", partitions),
        ]
        return self.intermediate_pipeline("decide", stages)

    def _add_to_index(self, partitions: int, crawls: Crawls) -> Pipeline:
        listing = self.listing_with_decisions("decisions", partitions)
        verified = self.verify is not None
        indexing = DocumentIndexing(
            partitions, self.signing, self.text_field, verified, self.storage
        )
        writer = FolderWriter(crawls.own, mode="overwrite", storage_options=self.storage)
        return self.intermediate_pipeline("index", [listing, indexing, writer])

    def counts(self, compared: str) -> dict[str, int]:
        """Return the counts, with those of the verification if there was one."""
        counts = super().counts(compared)
        if self.verify is None:
            return counts
        decided = counts_in(self.folder("decisions"), self.storage)
        pairs = {name: decided[name] for name in ("compared_pairs", "rejected_pairs")}
        kept = decided["candidates"] - counts["duplicates"]
        return {**counts, **pairs, "kept_as_different": kept}

    def verification(self, result: WorkflowResult) -> Verification | None:
        if self.verify is None:
            return None
        counts = result.metadata
        runs = (result.runs.get(name) for name in ("gather", "recall", "decide"))
        return Verification(
            self.verify, counts["compared_pairs"], counts["rejected_pairs"],
            counts["kept_as_different"], sum(run.seconds for run in runs if run), result.seconds,
        )  # fmt: skip

    def _by_hash(self, folder: str, key: str, partitions: int) -> ExchangeWriter:
        return self.exchange(folder, key, partitions, hashed=key != "block")
