"""Exact duplicates: documents with equal texts, byte by byte or after normalization."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import (
    AnyStage,
    DocumentBatch,
    Dropped,
    FileGroup,
    FilePart,
    Pipeline,
    ProcessingStage,
    Rejected,
    WorkflowResult,
)
from curator_core.io.filesystems import StorageOptions, base_name
from curator_core.io.shuffle import ExchangeReader
from curator_core.model.ids import fingerprint

from curator_dedup.cluster_workflow import IndexedWorkflow
from curator_dedup.columns import DIGEST, binary_column, words_in
from curator_dedup.hashing import normalized, text_hashes
from curator_dedup.index import Crawls
from curator_dedup.intermediate_files import FolderWriter, batch_for_folder, with_counts
from curator_dedup.passes.decide import (
    Keep,
    best_first,
    decision_counts,
    document_decisions,
    removed_without_text,
    rows_to_keep,
)
from curator_dedup.passes.group import Groups, Mask, group_equal
from curator_dedup.passes.list import (
    PARTITION,
    PartitionListing,
    block_id,
    extra_files,
    main_files,
    read_columns,
    read_parts,
)
from curator_dedup.passes.sign import EMPTY, NO_RECORD, TEXT, DocumentCounts, DocumentRows
from curator_dedup.text_reader import TextBatch, TextFields, priorities_of, read_texts

KNOWN = "known"
"""Column that says whether an earlier crawl has the text."""


@dataclass
class DocumentHashing(ProcessingStage[FileGroup, DocumentBatch]):
    """Hash the text of every document of a block.

    Yields one table per block: hash, block, file, row (the byte where a line begins, or the row
    number in a Parquet file), state (0 text, 1 empty, 2 not a record), and the priority if there is
    a priority field.
    """

    fans_out = False

    text_field: str = "text"
    normalize: bool = False
    priority_field: str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)
    origins: bool = False
    """Add `origin`, a fingerprint of path and version of the file, which an index needs."""

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        fields = TextFields(self.text_field, self.priority_field)
        table = _HashTable(self)
        for part in main_files(task):
            for batch in read_texts(part, fields, self.storage_options):
                yield from batch.rejected
                table.add(part, batch)
        if table.rows.count:
            yield DocumentBatch(table.finish(block_id(main_files(task))))


class _HashTable:
    """Collects the hashes of documents."""

    def __init__(self, stage: DocumentHashing) -> None:
        self.rows = DocumentRows(
            with_priority=stage.priority_field is not None,
            origin=_origin if stage.origins else None,
        )
        self._normalize = stage.normalize
        self._counts = DocumentCounts()
        self._hashes: list[pa.Array] = []

    def add(self, part: FilePart, batch: TextBatch) -> None:
        texts = normalized(batch.texts) if self._normalize else batch.texts
        is_empty = np.array([not text or text.isspace() for text in texts], np.bool_)
        self._hashes += [_hash_column(texts, is_empty), pa.nulls(len(batch.bad), DIGEST)]
        priorities = None if batch.scores is None else priorities_of(part, batch.scores)
        self.rows.add(part, batch.positions, np.where(is_empty, EMPTY, TEXT), priorities)
        self.rows.add(part, batch.bad, NO_RECORD)
        self._counts.add(part.path, batch, empty=int(is_empty.sum()))

    def finish(self, block: str) -> pa.Table:
        columns = {"hash": pa.chunked_array(self._hashes, DIGEST), **self.rows.columns(block)}
        return with_counts(pa.table(columns), self._counts)


def _origin(part: FilePart) -> str:
    return fingerprint(f"{part.path}\n{part.version}")


def _hash_column(texts: Sequence[str | None], is_empty: Mask) -> pa.Array:
    hashes = text_hashes(text.encode("utf-8", "surrogatepass") if text else b"" for text in texts)
    column = binary_column(hashes)
    if not is_empty.any():
        return column
    return column.take(pa.array(np.arange(len(texts)), mask=is_empty))


@dataclass
class HashDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Compare the hashes of a partition: decide which documents with duplicates are kept.

    Columns: block, file, row, keep, is_duplicate (there is a better one), cluster_id (the hash, for
    documents with duplicates) and cluster_size, which counts documents of this run. A document that
    is `known` to an index is a duplicate of the one indexed first. Documents to remove without a
    text are included.
    """

    fans_out = False

    keep: Keep = "one"
    keep_empty: bool = True

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        groups = _find_groups(table)
        without_text = removed_without_text(table, keep_empty=self.keep_empty)
        decided = len(groups.rows) + without_text.num_rows
        if decided < table.num_rows:
            yield Dropped("without equals", table.num_rows - decided)
        if decided:
            yield DocumentBatch(self._decisions(table, groups, without_text))

    def _decisions(self, table: pa.Table, groups: Groups, without_text: pa.Table) -> pa.Table:
        documents = table.take(pa.array(groups.rows))
        is_duplicate = ~groups.is_first
        if KNOWN in table.column_names:
            is_duplicate |= documents[KNOWN].to_numpy()
        is_kept = rows_to_keep(self.keep, is_duplicate)
        columns = {"cluster_id": documents["hash"], "cluster_size": groups.sizes}
        decisions = document_decisions(documents, is_kept, is_duplicate, columns, without_text)
        counts = decision_counts(int(groups.is_first.sum()), is_duplicate, is_kept)
        return with_counts(decisions, counts)


def _find_groups(table: pa.Table) -> Groups:
    """Return the documents with equal texts, and those whose text an earlier crawl has."""
    texts = np.flatnonzero(table["state"].to_numpy() == TEXT)
    hashes = words_in(table["hash"])
    groups = group_equal(hashes[texts], [key[texts] for key in best_first(table)])
    groups = groups._replace(rows=texts[groups.rows])
    if KNOWN not in table.column_names:
        return groups
    is_single = np.array(table[KNOWN].to_numpy(), np.bool_)
    is_single[groups.rows] = False
    rows = np.flatnonzero(is_single)
    return Groups(
        np.concatenate((groups.rows, rows)),
        np.concatenate((groups.is_first, np.ones(len(rows), np.bool_))),
        np.concatenate((groups.sizes, np.ones(len(rows), np.int64))),
    )


@dataclass(frozen=True)
class HashOptions:
    """Options that must be equal for hashes to be comparable."""

    kind: str = "exact"
    normalize: bool = False


def _partition_folder(number: int) -> str:
    """Return the folder of a partition in the index."""
    return f"{number:04d}"


@dataclass
class HashListing(PartitionListing):
    """List partitions of hashes; in the index, each partition has a folder of its own."""

    def partition_of_crawl(self, file: FilePart, number: int) -> Iterable[FilePart]:
        folder = base_name(file.path.rpartition("/")[0])
        return [file] if folder == _partition_folder(number) else []


@dataclass
class HashComparing(ProcessingStage[FileGroup, DocumentBatch]):
    """Base of the stages that compare a partition of hashes with those of earlier crawls.

    An index has each hash with the origin of the file that had it first.
    """

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | None:
        hashes = read_parts(main_files(task), self.partitions, None, self.storage_options)
        if hashes is None:
            return None
        origins = pc.cast(hashes["origin"], pa.string())
        hashes = hashes.set_column(hashes.column_names.index("origin"), "origin", origins)
        schema = pa.schema([("hash", DIGEST), ("origin", pa.string())])
        indexed = read_columns(extra_files(task), schema, 1, self.storage_options)
        is_own = pc.is_in(indexed["origin"], value_set=pc.unique(origins))
        others = indexed.filter(pc.invert(is_own))
        has_text = pc.equal(hashes["state"], TEXT)
        known = pc.and_(has_text, pc.is_in(hashes["hash"], value_set=others["hash"]))
        return self.compared(hashes, known, task)

    @abstractmethod
    def compared(
        self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup
    ) -> DocumentBatch | None:
        """Return the output for hashes, given which are known from files other than these."""


@dataclass
class HashReading(HashComparing):
    """Read a partition of hashes and mark those that an earlier crawl has."""

    def compared(self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup) -> DocumentBatch:
        return DocumentBatch(hashes.append_column(KNOWN, known))


@dataclass
class HashIndexing(HashComparing):
    """Return the hashes that no earlier crawl has, each with the first origin.

    Each batch is addressed to the folder of its partition.
    """

    def compared(
        self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup
    ) -> DocumentBatch | None:
        has_text = pc.equal(hashes["state"], TEXT)
        fresh = hashes.filter(pc.and_(has_text, pc.invert(known)))
        if not fresh.num_rows:
            return None
        once = fresh.group_by("hash", use_threads=False).aggregate([("origin", "first")])
        table = pa.table({"hash": once["hash"], "origin": once["origin_first"]})
        folder = _partition_folder(task.metadata[PARTITION])
        return batch_for_folder(folder, table, key="hash", partitions=1)


@dataclass
class ExactDeduplicationWorkflow(IndexedWorkflow):
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
        partitions = self.partitions_for_input(files)
        crawls = self.record_crawls(files)
        yield self._hash(partitions)
        self.refuse_unreadable_files(result, "hash")
        self.check_missing_fields("hashes")
        yield self._decide(partitions)
        self.refuse_changed_input(files)
        yield self.remove(partitions)
        result.metadata |= self.counts("hashes")
        if crawls is not None:
            yield self._add_to_index(partitions, crawls)
            self.warn_if_all_known(result.metadata, crawls)

    def _hash(self, partitions: int) -> Pipeline:
        hashing = DocumentHashing(
            self.text_field, self.normalize, self.priority_field, self.storage,
            self.index is not None,
        )  # fmt: skip
        writer = self.exchange("hashes", "hash", partitions, hashed=True)
        return Pipeline("hash", stages=[self.listing(), hashing, writer])

    def _decide(self, partitions: int) -> Pipeline:
        deciding = HashDeciding(self.keep, self.keep_empty)
        writer = self.exchange("decisions", "block", partitions)
        stages = [*self._read_hashes(partitions), deciding, writer]
        return self.intermediate_pipeline("decide", stages)

    def _read_hashes(self, partitions: int) -> list[AnyStage]:
        """Return the stages that read equal hashes together, including those of earlier crawls."""
        if self.index is None:
            return [ExchangeReader(self.folder("hashes"), partitions, storage_options=self.storage)]
        return [self._hash_listing(partitions), HashReading(partitions, self.storage)]

    def _hash_listing(self, partitions: int) -> HashListing:
        return HashListing(
            [self.folder("hashes")], partitions, self.earlier, storage_options=self.storage
        )

    def _add_to_index(self, partitions: int, crawls: Crawls) -> Pipeline:
        writer = FolderWriter(crawls.own, mode="overwrite", storage_options=self.storage)
        indexing = HashIndexing(partitions, self.storage)
        return self.intermediate_pipeline(
            "index", [self._hash_listing(partitions), indexing, writer]
        )
