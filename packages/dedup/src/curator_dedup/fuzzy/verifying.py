"""Verifying: clusters divided by the exact similarity of their documents.

Documents are taken best first. Each joins the first leader that it is similar enough to, or becomes
a leader itself. So whatever is removed has been compared with what stays, and nothing is removed
because of a chain in which only neighbours are alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.exchanges.reading import read_partition, united
from curator_core.filesystems import StorageOptions

from curator_dedup.blocks import block_id, decisions_of, inputs_of
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.signing import KEY, SigningOptions
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words, different
from curator_dedup.readings import TextFields, readings_of

SHINGLES, DIGEST = "shingles", "digest"

MOST_LEADERS = 256
"""A document is compared with so many leaders at most, so that no cluster takes quadratic time. In
a larger cluster a few may stay that could go; none goes that must stay."""


@dataclass
class Gathering(ProcessingStage[FileGroup, DocumentBatch]):
    """Reads the documents of clusters once more, and gives their members with their shingles.

    Where two of a block have the same shingles, only the first has them written down: `digest`
    tells which they are.
    """

    fans_out = False

    partitions: int
    options: SigningOptions = field(default_factory=SigningOptions)
    text_field: str = "text"
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = inputs_of(task)
        members = self._members(block_id(inputs), decisions_of(task))
        if members is None or not members.num_rows:
            yield Dropped("no member of a cluster", 1)
            return
        found = _Found(members)
        for part in inputs:
            self._look_at(part, found)
        yield DocumentBatch(found.table())

    def _members(self, block: str, parts: list[FilePart]) -> pa.Table | None:
        import pyarrow.compute as pc

        tables = []
        for part in parts:
            table = read_partition(part, self.partitions, storage_options=self.storage_options)
            tables.append(table.filter(pc.equal(table["block"], block)))
        return united(tables).unify_dictionaries().combine_chunks() if tables else None

    def _look_at(self, part: FilePart, found: "_Found") -> None:
        wanted = found.rows_of(part.path)
        if not len(wanted):
            return
        fields = TextFields(self.text_field)
        shingling = self.options.signing.shingling
        for reading in readings_of(part, fields, self.storage_options):
            here = np.flatnonzero(np.isin(reading.positions, wanted))
            texts = [reading.texts[place] or "" for place in here]
            found.add(part.path, reading.positions[here], texts, shingling)


class _Found:
    """The members of a block, and the shingles that were found of them."""

    def __init__(self, members: pa.Table) -> None:
        self._members = members
        coded = members["file"].combine_chunks()
        self._files = coded.dictionary.to_pylist()
        self._places = coded.indices.to_numpy()
        self._rows = members["row"].to_numpy()
        self._at = {
            place: number
            for number, place in enumerate(
                zip(self._places.tolist(), self._rows.tolist(), strict=True)
            )
        }
        self._digests = np.zeros(members.num_rows, np.uint64)
        self._shingles: list[Words | None] = [None] * members.num_rows
        self._clusters = keys_of(members["cluster"]).tolist()
        self._seen: set[tuple[int, int]] = set()

    def rows_of(self, path: str) -> npt.NDArray[np.int64]:
        if path not in self._files:
            return np.zeros(0, np.int64)
        rows = self._rows[self._places == self._files.index(path)]
        return np.asarray(np.sort(rows))

    def add(
        self, path: str, rows: npt.NDArray[np.int64], texts: list[str], shingling: Shingling
    ) -> None:
        if not texts:
            return
        file = self._files.index(path)
        shingles, counts = shingling.of(texts)
        ends = np.cumsum(counts)
        for row, start, end in zip(rows.tolist(), ends - counts, ends, strict=True):
            self._put(self._at[file, row], different(shingles[start:end]))

    def _put(self, number: int, shingles: Words) -> None:
        digest = int(np.bitwise_xor.reduce(shingles)) ^ len(shingles)
        self._digests[number] = digest
        if (self._clusters[number], digest) not in self._seen:
            self._seen.add((self._clusters[number], digest))
            self._shingles[number] = shingles

    def table(self) -> pa.Table:
        lengths = [0 if one is None else len(one) for one in self._shingles]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        values = [one for one in self._shingles if one is not None]
        flat = pa.array(np.concatenate([*values, np.zeros(0, np.uint64)]))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), flat)
        table = self._members.append_column(DIGEST, numbers_column(self._digests, KEY))
        return table.append_column(SHINGLES, lists)


@dataclass(frozen=True)
class Shingled:
    """The shingles of documents: those of equal digest, in one cluster, are the same."""

    digests: Words
    offsets: npt.NDArray[np.int64]
    values: Words

    @classmethod
    def of(cls, table: pa.Table) -> "Shingled":
        lists = table[SHINGLES].combine_chunks()
        whole = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
        return cls(keys_of(table[DIGEST]), whole.offsets.to_numpy(), whole.values.to_numpy())

    def at(self, place: int) -> Words:
        return self.values[self.offsets[place] : self.offsets[place + 1]]


def verified(shingled: Shingled, clusters: Words, threshold: float) -> npt.NDArray[np.int64]:
    """A group for each document, named after the place of its leader. They come cluster by cluster,
    the best of each first."""
    groups = np.arange(len(clusters))
    edges = np.flatnonzero(np.diff(clusters)) + 1
    for start, end in zip([0, *edges], [*edges, len(clusters)], strict=True):
        if end - start > 1:
            _divide(shingled, range(int(start), int(end)), threshold, groups)
    return groups


def _divide(
    shingled: Shingled, places: range, threshold: float, groups: npt.NDArray[np.int64]
) -> None:
    sets: dict[int, Words] = {}
    for place in places:
        own = shingled.at(place)
        if len(own):
            sets.setdefault(int(shingled.digests[place]), own)
    leaders: list[tuple[int, Words]] = []
    decided: dict[int, int] = {}
    for place in places:
        digest = int(shingled.digests[place])
        if digest not in decided:
            decided[digest] = _leader_of(place, sets[digest], leaders, threshold)
        groups[place] = decided[digest]


def _leader_of(place: int, own: Words, leaders: list[tuple[int, Words]], threshold: float) -> int:
    for leader, shingles in leaders[:MOST_LEADERS]:
        if jaccard(own, shingles) >= threshold:
            return leader
    leaders.append((place, own))
    return place


def jaccard(ones: Words, others: Words) -> float:
    """Of two sorted sets."""
    if min(len(ones), len(others)) == 0:
        return 0.0
    shared = len(np.intersect1d(ones, others, assume_unique=True))
    return shared / (len(ones) + len(others) - shared)
