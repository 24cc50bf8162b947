"""Near-duplicates by hashes that may differ in a few bits, for any rows with an id."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import (
    AnyStage,
    DocumentBatch,
    Dropped,
    Empty,
    FileGroup,
    FilePart,
    InputError,
    Pipeline,
    ProcessingStage,
    WorkflowResult,
    flatten,
)
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.writers import Mode
from curator_core.model.ids import fingerprint

from curator_dedup.columns import binary_column, numbers_in, words_in
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import (
    FolderWriter,
    counts_in,
    files_in,
    read_note,
    read_whole_file,
    with_counts,
    write_note,
)
from curator_dedup.option_checks import wrong_choices
from curator_dedup.passes.decide import Keep
from curator_dedup.passes.group import Indices, Mask, find_clusters, run_starts
from curator_dedup.passes.list import (
    PartitionListing,
    PartitionReading,
    extra_files,
    file_task,
    main_files,
)
from curator_dedup.workflow import REMOVE, DedupWorkflow, partitions_for

BANDS = "bands"
"""Folder of keys with their hashes, below the signed data. Rows that share a key are compared."""

_SMALL_GROUP = 32
"""Groups up to this size are compared all together; larger ones one by one."""

_TABLE_ROWS = 2048
"""Number of rows and columns of a table of distances that fits in a processor's cache."""

_PARTITION_BYTES = 1 << 28
"""Bytes of keys and hashes per partition."""


def as_words(hashes: npt.NDArray[np.uint8]) -> U64Array:
    """Return rows of bytes as rows of 64-bit words."""
    return np.ascontiguousarray(hashes).view(np.uint64)


def distances(left: U64Array, right: U64Array) -> npt.NDArray[np.uint16]:
    """Return the number of differing bits of corresponding rows of words.

    All axes but the last are broadcast.
    """
    return np.asarray(np.bitwise_count(left ^ right).sum(axis=-1, dtype=np.uint16))


def distance_table(left: U64Array, right: U64Array) -> npt.NDArray[np.uint16]:
    """Return the distance of each row of one to each row of the other."""
    total = np.zeros((len(left), len(right)), np.uint16)
    for word in range(left.shape[1]):
        total += np.bitwise_count(left[:, word, None] ^ right[None, :, word])
    return total


def bit_masks(bits: int, positions: Sequence[Sequence[int]]) -> U64Array:
    """Return words with the bits of each list set; bit 0 is the highest of the first byte."""
    flags = np.zeros((len(positions), bits), np.uint8)
    for row, chosen in enumerate(positions):
        flags[row, list(chosen)] = 1
    return as_words(np.packbits(flags, axis=1))


def priority_column(table: pa.Table, name: str | None) -> pa.Array:
    """Return the priorities, missing ones lowest; all are equal without a field."""
    if name is None:
        return pa.array(np.zeros(table.num_rows))
    values = table.column(name)
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise InputError(
            f"priority_field names {name!r}, which holds {values.type}; name a column of numbers"
        )
    numbers = values.cast(pa.float64()).fill_null(-np.inf).to_numpy()
    return pa.array(np.where(np.isnan(numbers), -np.inf, numbers))


def pairs_within(
    keys: U64Array, hashes: U64Array, threshold: int
) -> Iterator[tuple[Indices, Indices]]:
    """Yield, in batches, pairs of rows with the same key that differ by at most `threshold`."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(run_starts(ordered))
    sizes = np.diff(np.append(starts, len(ordered)))
    is_small = (sizes > 1) & (sizes <= _SMALL_GROUP)
    yield from _pairs_in_small_groups(order, starts[is_small], sizes[is_small], hashes, threshold)
    is_large = sizes > _SMALL_GROUP
    for start, size in zip(starts[is_large], sizes[is_large], strict=True):
        rows = order[start : start + size]
        for left, right in _pairs_in_large_group(hashes[rows], threshold):
            yield rows[left], rows[right]


def _pairs_in_small_groups(
    order: Indices, starts: Indices, sizes: Indices, hashes: U64Array, threshold: int
) -> Iterator[tuple[Indices, Indices]]:
    """Compare each row with the next one of its group, then with the second next, and so on."""
    ends = np.repeat(starts + sizes, sizes)
    inside = np.arange(len(ends)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts, sizes) + inside
    for step in range(1, _SMALL_GROUP):
        has_partner = places + step < ends
        places, ends = places[has_partner], ends[has_partner]
        if not len(places):
            return
        left, right = order[places], order[places + step]
        is_near = distances(hashes[left], hashes[right]) <= threshold
        yield left[is_near], right[is_near]


def _pairs_in_large_group(hashes: U64Array, threshold: int) -> Iterator[tuple[Indices, Indices]]:
    for top in range(0, len(hashes), _TABLE_ROWS):
        upper = hashes[top : top + _TABLE_ROWS]
        for left in range(top, len(hashes), _TABLE_ROWS):
            is_near = distance_table(upper, hashes[left : left + _TABLE_ROWS]) <= threshold
            rows, columns = np.nonzero(np.triu(is_near, 1) if left == top else is_near)
            yield rows + top, columns + left


@dataclass
class HashMatching(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Link the rows of a partition of bands.

    Columns: doc, to. Rows connected by pairs within the threshold are linked with the smallest id
    among them, so there are never more links than keys. Equal hashes share all keys and are linked
    in the first band only.
    """

    fans_out = False

    threshold: int

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        order = np.lexsort((numbers_in(table["doc"]), numbers_in(table["key"])))
        keys, ids = numbers_in(table["key"])[order], numbers_in(table["doc"])[order]
        hashes = words_in(table["hash"])[order]
        groups = _group_numbers(keys, hashes)
        in_first_band = table["band"].to_numpy()[order] == 0
        pairs = [_equal_pairs(groups, in_first_band), *self._near_pairs(keys, hashes, groups)]
        links = _link_to_smallest(ids, pairs)
        if not len(links[0]):
            yield Dropped("without a partner", task.num_items)
            return
        columns = {"doc": binary_column(links[0]), "to": binary_column(links[1])}
        yield DocumentBatch(with_counts(pa.table(columns), {"links": len(links[0])}))

    def _near_pairs(
        self, keys: U64Array, hashes: U64Array, groups: Indices
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield close pairs among different hashes, each represented by its first row."""
        if not self.threshold:
            return
        _, rows = np.unique(groups, return_index=True)
        for left, right in pairs_within(keys[rows], hashes[rows], self.threshold):
            yield rows[left], rows[right]


def _group_numbers(keys: U64Array, hashes: U64Array) -> Indices:
    """Return a number for each row, equal for rows with the same key and hash."""
    _, numbers = np.unique(np.column_stack((keys, hashes)), axis=0, return_inverse=True)
    return np.asarray(numbers.reshape(-1), np.int64)


def _equal_pairs(groups: Indices, is_counted: Mask) -> tuple[Indices, Indices]:
    """Pair each counted row with the first of its group."""
    rows = np.flatnonzero(is_counted)
    _, firsts, which = np.unique(groups[rows], return_index=True, return_inverse=True)
    leaders = rows[firsts[which.reshape(-1)]]
    is_later = leaders != rows
    return leaders[is_later], rows[is_later]


def _link_to_smallest(
    ids: U64Array, pairs: list[tuple[Indices, Indices]]
) -> tuple[U64Array, U64Array]:
    """Link every connected row with the smallest id of its component."""
    left, right = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
    nodes, smallest = find_clusters(ids[left], ids[right])
    is_linked = smallest != nodes
    return nodes[is_linked], smallest[is_linked]


@dataclass
class LinkedListing(ProcessingStage[Empty, FileGroup]):
    """List all links, with all tables of rows as extra files, as one task."""

    links: str
    rows: str
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> FileGroup:
        links = files_in(self.links, self.storage_options)
        rows = files_in(self.rows, self.storage_options)
        return file_task(links, rows, marker=self.links)


@dataclass
class LinkedClustering(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the rows that have links, with `cluster`, the smallest id in it.

    All links are held in memory, about 50 bytes each; tables are read one file at a time.
    """

    fans_out = True

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        columns = ["doc", "to"]
        tables = [read_whole_file(part, columns, self.storage_options) for part in main_files(task)]
        if not tables:
            yield Dropped("no links", task.num_items)
            return
        links = pa.concat_tables(tables)
        nodes, clusters = find_clusters(numbers_in(links["doc"]), numbers_in(links["to"]))
        for part in extra_files(task):
            table = read_whole_file(part, storage_options=self.storage_options)
            ids = numbers_in(table["doc"])
            places = np.minimum(np.searchsorted(nodes, ids), len(nodes) - 1)
            linked = np.flatnonzero(nodes[places] == ids)
            if len(linked):
                rows = table.take(pa.array(linked))
                column = binary_column(clusters[places[linked]])
                yield DocumentBatch(rows.append_column("cluster", column))


@dataclass
class HammingWorkflow(DedupWorkflow):
    """Workflow that finds near-duplicates by hashes of rows.

    It signs every row, matches rows that share a key, and decides which rows of a cluster are kept.
    Subclasses define how rows are read, signed, decided on and removed.
    """

    input_path: str | list[str]
    """Input: files, folders, or patterns with * and **."""

    output_path: str
    """Folder for the rows that are kept."""

    priority_field: str | None = None
    """Column with numbers: of duplicates, the row with the highest is kept, whatever its size."""

    keep: Keep = "one"
    """Which duplicates to keep: one of each group, none, or all of them, marked."""

    add_clusters: bool | None = None
    """Add cluster_id, cluster_size and is_duplicate to each row. If unset, only for `mark`."""

    mode: Mode = "error"
    """What to do if the output folder has other data: fail, append, or overwrite."""

    partitions: int | None = None
    """Number of partitions, which are compared one by one. If unset, it depends on the input."""

    work_path: str | None = None
    """Folder for intermediate files. If unset, a hidden folder next to the output."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """fsspec options for an object store."""

    reader: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """Custom reader that returns batches of such rows; only from Python."""

    writer: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """Custom writer; only from Python."""

    rows_name: ClassVar[str]
    """What the rows are called in counts; also the folder of the signed rows."""

    # Defined by each package

    @abstractmethod
    def make_reader(self) -> AnyStage:
        """Return the stage that reads the input, unless there is a `reader`."""

    @abstractmethod
    def make_writer(self) -> AnyStage:
        """Return the stage that writes the rows that are kept, unless there is a `writer`."""

    @property
    @abstractmethod
    def max_distance(self) -> int:
        """Maximum number of differing bits for two rows to be compared further."""

    @abstractmethod
    def estimate_key_bytes(self, files: Sequence[FilePart]) -> int:
        """Return the approximate size of all keys, which sets the number of partitions."""

    @abstractmethod
    def make_signer(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        """Return the stage that writes two folders: `BANDS` and `rows_name`."""

    @abstractmethod
    def make_decider(self) -> AnyStage:
        """Return the stage that decides which rows of each cluster are kept."""

    @abstractmethod
    def make_remover(self, decisions: str) -> AnyStage:
        """Return the stage that drops the rows that are not kept."""

    def extra_counts(self, signed: Mapping[str, int]) -> dict[str, int]:
        """Return counts from signing, other than the number of rows."""
        return {}

    # Common to all packages

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {"keep": get_args(Keep), **super().allowed_values}

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    def check(self) -> Iterable[str]:
        yield from super().check()
        if list(wrong_choices(self, self.allowed_values)):  # the reader may depend on them
            return
        for stage in flatten([self.input_stage()]):
            yield from (problem.replace("file_paths", "input_path") for problem in stage.check())

    def check_sources(self) -> Iterable[str]:
        for stage in flatten([self.input_stage()]):
            yield from stage.check_sources()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.files()
        self._refuse_other_input(files)
        key_bytes = self.estimate_key_bytes(files)
        partitions = self.partitions or partitions_for(key_bytes, _PARTITION_BYTES)
        yield self._sign(files, partitions)
        self.refuse_unreadable_files(result, "sign")
        yield self._match(partitions)
        yield self._cluster(partitions)
        yield self._decide(partitions)
        yield self._remove()
        result.metadata |= self._counts(result)

    def files(self) -> list[FilePart]:
        stages = flatten([self.input_stage()])
        listings = [stage for stage in stages if isinstance(stage, FilePartitioning)]
        return sorted(
            (file for listing in listings for file in listing.files()), key=lambda file: file.path
        )

    def input_stage(self) -> AnyStage:
        return self.make_reader() if self.reader is None else self.reader

    def _refuse_other_input(self, files: Sequence[FilePart]) -> None:
        """Refuse changed input: decisions cover all rows together and are wrong for other input."""
        note = self.folder("input.json")
        current = fingerprint(*(f"{file.path}\n{file.size}\n{file.version}" for file in files))
        recorded = read_note(note, self.storage_options)
        if recorded not in (None, current):
            raise InputError(
                f"{self.name}: the input has changed since {self.work_dir} was created; give "
                "another output_path, or remove that folder to start over"
            )
        write_note(note, current, self.storage_options)

    def _sign(self, files: Sequence[FilePart], partitions: int) -> Pipeline:
        writer = FolderWriter(self.folder("signed"), storage_options=self.storage)
        stages = [self.input_stage(), self.make_signer(files, partitions), writer]
        return Pipeline("sign", stages=stages)

    def _match(self, partitions: int) -> Pipeline:
        stages = [
            *self._read_partitions(self._signed(BANDS), partitions),
            HashMatching(self.max_distance),
            self.exchange("links", "doc", 1, hashed=True),
        ]
        return self.intermediate_pipeline("match", stages)

    def _cluster(self, partitions: int) -> Pipeline:
        listing = LinkedListing(self.folder("links"), self._signed(self.rows_name), self.storage)
        writer = self.exchange("members", "cluster", partitions, hashed=True)
        stages: list[AnyStage] = [listing, LinkedClustering(self.storage), writer]
        return self.intermediate_pipeline("cluster", stages)

    def _decide(self, partitions: int) -> Pipeline:
        stages = [
            *self._read_partitions(self.folder("members"), partitions),
            self.make_decider(),
            self.exchange("decisions", "doc", 1, hashed=True),
        ]
        return self.intermediate_pipeline("decide", stages)

    def _remove(self) -> Pipeline:
        writer = self.make_writer() if self.writer is None else self.writer
        return Pipeline(REMOVE, stages=[self.input_stage(), self._remover(), writer])

    def _remover(self) -> AnyStage:
        return self.make_remover(self.folder("decisions"))

    def _signed(self, name: str) -> str:
        return join(self.folder("signed"), name)

    def _read_partitions(self, folder: str, partitions: int) -> list[AnyStage]:
        listing = PartitionListing([folder], partitions, storage_options=self.storage)
        return [listing, PartitionReading(partitions, self.storage)]

    def _counts(self, result: WorkflowResult) -> dict[str, int]:
        signed = counts_in(self._signed(self.rows_name), self.storage_options)
        decided = counts_in(self.folder("decisions"), self.storage_options)
        return {
            self.rows_name: signed[self.rows_name],
            "unreadable": sum(record.items for record in result.runs["sign"].quarantined),
            **self.extra_counts(signed),
            **{name: decided[name] for name in ("groups", "duplicates", "removed")},
            "kept": result.runs[REMOVE].stages[self._remover().name].items_out,
        }
