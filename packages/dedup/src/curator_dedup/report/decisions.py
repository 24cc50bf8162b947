"""Statistics and samples of all decisions, read once in batches."""

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import FileFilter, find_files

from curator_dedup.report.lookup import DocumentPlace

COLUMNS = ("file", "row", "keep", "is_duplicate", "cluster_id", "cluster_size")
NEAREST = ("similarity", "nearest_file", "nearest_row")
"""Additional columns of decisions on vectors."""

EXAMPLES = 12
SAMPLE = 1000
_BATCH = 1 << 16

T = TypeVar("T")
Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class NearestDocument:
    """A document, its nearest document, and their similarity."""

    place: DocumentPlace
    nearest: DocumentPlace
    similarity: float

    @classmethod
    def of(cls, row: dict[str, Any]) -> "NearestDocument | None":
        similarity, file, at = (row.get(name) for name in NEAREST)
        if similarity is None or file is None or at is None:
            return None
        return cls(DocumentPlace(row["file"], row["row"]), DocumentPlace(file, at), similarity)


@dataclass
class ReportedCluster:
    """A cluster with a few of its documents, and the one that is kept if it is in this corpus."""

    cluster_id: bytes
    size: int
    best: DocumentPlace | None = None
    others: list[DocumentPlace] = field(default_factory=list)
    near: NearestDocument | None = None

    def add_duplicate(self, place: DocumentPlace, near: NearestDocument | None) -> None:
        """Keep the first few by file and row, in whatever order the decisions are read."""
        insort(self.others, place)
        del self.others[EXAMPLES:]
        if near is not None and (self.near is None or place < self.near.place):
            self.near = near


@dataclass
class CollectedDecisions:
    """Counts of all duplicates, and a sample of them that depends only on the decisions."""

    duplicates: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    groups: list[ReportedCluster] = field(default_factory=list)
    sample: list[DocumentPlace] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.duplicates.values())


def read_decisions(
    folder: str, storage_options: StorageOptions | None = None
) -> CollectedDecisions | None:
    """Return statistics of the decisions in a folder; None if they have other columns."""
    found = CollectedDecisions()
    chosen: _Lowest[bytes] = _Lowest(EXAMPLES)
    sample: _Lowest[tuple[str, int]] = _Lowest(SAMPLE)
    for table in _tables(folder, storage_options):
        if table is None:
            return None
        found.removed += _counted(table.filter(pc.invert(table["keep"]))["file"])
        grouped = table.filter(pc.is_valid(table["cluster_id"]))
        firsts = grouped.filter(pc.invert(grouped["is_duplicate"]))
        several = firsts.filter(pc.greater(firsts["cluster_size"], 1))
        found.sizes += _counted(several["cluster_size"])
        duplicates = grouped.filter(grouped["is_duplicate"])
        found.duplicates += _counted(duplicates["file"])
        if duplicates.num_rows:
            ids = pc.unique(duplicates["cluster_id"])
            chosen.add(_mixed_ids(ids), ids.to_pylist())
            sample.add(_mixed_places(duplicates), _places(duplicates))
    found.sample = [DocumentPlace(*place) for place in sample.values]
    found.groups = _read_clusters(folder, set(chosen.values), storage_options)
    return found


def _read_clusters(
    folder: str, ids: set[bytes], storage_options: StorageOptions | None
) -> list[ReportedCluster]:
    """Return a few clusters with their members, from a second read of the decisions."""
    groups: dict[bytes, ReportedCluster] = {}
    for table in _tables(folder, storage_options) if ids else ():
        if table is None:
            break
        wanted = pa.array(sorted(ids), table["cluster_id"].type)
        here = table.filter(pc.is_in(table["cluster_id"], value_set=wanted))
        for row in here.to_pylist():
            cluster = row["cluster_id"]
            group = groups.setdefault(cluster, ReportedCluster(cluster, row["cluster_size"]))
            place = DocumentPlace(row["file"], row["row"])
            if not row["is_duplicate"]:
                group.best = place
            else:
                group.add_duplicate(place, NearestDocument.of(row))
    return [groups[cluster] for cluster in sorted(groups)]


def _tables(folder: str, storage_options: StorageOptions | None) -> Iterator[pa.Table | None]:
    import pyarrow.parquet as pq

    try:
        files = list(find_files([folder], FileFilter((".parquet",)), storage_options))
    except NothingFoundError:
        return
    for file in files:
        with open_input(file.path, storage_options) as source:
            parquet = pq.ParquetFile(source)
            there = parquet.schema_arrow.names
            if not set(COLUMNS) <= set(there):
                yield None
                return
            columns = [*COLUMNS, *(name for name in NEAREST if name in there)]
            for batch in parquet.iter_batches(_BATCH, columns=columns):
                table = pa.Table.from_batches([batch])
                yield table.set_column(0, "file", pc.cast(table["file"], pa.string()))


def _counted(column: pa.ChunkedArray) -> Counter[Any]:
    counted = pc.value_counts(column)
    values, counts = counted.field(0).to_pylist(), counted.field(1).to_pylist()
    return Counter(dict(zip(values, counts, strict=True)))


def _places(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(table["file"].to_pylist(), table["row"].to_pylist(), strict=True))


def _mixed_places(table: pa.Table) -> Numbers:
    coded = table["file"].combine_chunks().dictionary_encode()
    lengths = np.array([hash_of(name) for name in coded.dictionary.to_pylist()], np.uint64)
    files = lengths[coded.indices.to_numpy(zero_copy_only=False)]
    return _mixed_bits(files ^ table["row"].to_numpy().astype(np.uint64))


def hash_of(text: str) -> int:
    import xxhash

    return int(xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))


def _mixed_ids(ids: pa.Array) -> Numbers:
    """Return 64 mixed bits for each id. Ids may be consecutive numbers."""
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    content = np.frombuffer(b"".join(whole.to_pylist()), np.uint64)
    words = content.reshape(len(whole), -1)
    return _mixed_bits(np.bitwise_xor.reduce(words, axis=1))


def _mixed_bits(numbers: Numbers) -> Numbers:
    mixed = (numbers ^ (numbers >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


class _Lowest(Generic[T]):
    """Keeps the values with the lowest numbers: a fair sample that does not depend on the order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[T, int] = {}

    def add(self, numbers: Numbers, values: Sequence[T]) -> None:
        for at in np.argsort(numbers, kind="stable")[: self._most]:
            self._kept[values[at]] = int(numbers[at])
        if len(self._kept) > self._most:
            lowest = sorted(self._kept.items(), key=lambda item: item[1])[: self._most]
            self._kept = dict(lowest)

    @property
    def values(self) -> list[T]:
        return sorted(self._kept, key=self._kept.__getitem__)
