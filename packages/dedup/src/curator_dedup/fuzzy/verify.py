"""Verify: split clusters by the exact similarity of their documents.

Documents are processed best first, those of earlier crawls before all others. Each joins the first
leader that it is similar enough to, or becomes a leader itself. Each removed document has therefore
been compared with the one that is kept, and no document is removed because of a chain in which only
neighbours are similar.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions

from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.fuzzy.minhash import SigningOptions, shingles_of
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.hashing import U64Array
from curator_dedup.passes.group import run_edges, run_starts
from curator_dedup.passes.list import block_id, extra_files, main_files, read_block_rows
from curator_dedup.text_reader import TextFields, read_texts

SHINGLES = "shingles"

ShingleSet: TypeAlias = npt.NDArray[np.uint32]
"""The shingles of a document as sorted, distinct 32-bit numbers.

Two documents of 500 words share a number by chance in 1 of 20,000 cases, which changes their
similarity by a thousandth.
"""


def shingle_sets(shingling: Shingling, texts: Sequence[str]) -> list[ShingleSet]:
    if not texts:
        return []
    shingles, counts = shingles_of(shingling, texts)
    # Sort all at once, with the number of the text in the upper half.
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64) << np.uint64(32), counts)
    whole = np.sort(owners | shingles)
    whole = whole[run_starts(whole)]
    edges = np.searchsorted(whole >> np.uint64(32), np.arange(1, len(texts)))
    return np.split(whole.astype(np.uint32), edges)


def shingles_digest(numbers: ShingleSet) -> int:
    """Return a 64-bit digest of a set."""
    return int(xxhash.xxh3_64_intdigest(numbers.tobytes()))


def sets_column(sets: Sequence[ShingleSet | None]) -> pa.Array:
    """Return a column of sets, with an empty list for a missing one."""
    lengths = [0 if numbers is None else len(numbers) for numbers in sets]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    values = [numbers for numbers in sets if numbers is not None]
    flat = pa.array(np.concatenate([*values, np.zeros(0, np.uint32)]))
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat)


def sets_in(column: pa.ChunkedArray) -> list[ShingleSet]:
    sets: list[ShingleSet] = []
    for chunk in column.chunks:
        edges = chunk.offsets.to_numpy()
        values = chunk.values.to_numpy()
        sets += [values[start:end] for start, end in pairwise(edges)]
    return sets


def jaccard(one: ShingleSet, other: ShingleSet) -> float:
    """Return the Jaccard similarity of two sets; 0 if either is empty."""
    if not len(one) or not len(other):
        return 0.0
    together = np.concatenate((one, other))
    together.sort(kind="stable")
    shared = int(np.count_nonzero(together[1:] == together[:-1]))
    return shared / (len(together) - shared)


SHINGLES_DIGEST = "digest"

FEW_DOCUMENTS = 16
"""Up to this many distinct documents in a cluster, each is compared with all leaders."""

MAX_LEADERS = 256
"""Maximum number of leaders per shingle, and of leaders that a document is compared with, so that
no cluster takes quadratic time. Where more leaders share their rarest shingles, a few duplicates
may be kept; no document is removed by mistake."""


@dataclass
class ShingleReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read the documents of clusters again and return members with their shingles.

    Of documents of a block with equal shingles, only the first stores them; `digest` shows which
    documents are equal.
    """

    fans_out = False

    partitions: int
    options: SigningOptions = field(default_factory=SigningOptions)
    text_field: str = "text"
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = main_files(task)
        rows = read_block_rows(
            block_id(inputs), extra_files(task), self.partitions, None, self.storage_options
        )
        if rows is None:
            yield Dropped("no member of a cluster", 1)
            return
        members = _Members(rows.unify_dictionaries().combine_chunks())
        for part in inputs:
            self._read_file(part, members)
        yield DocumentBatch(members.table())

    def _read_file(self, part: FilePart, members: "_Members") -> None:
        wanted = members.rows_of(part.path)
        if not len(wanted):
            return
        fields = TextFields(self.text_field)
        shingling = self.options.signing.shingling
        for batch in read_texts(part, fields, self.storage_options, wanted):
            here = np.flatnonzero(np.isin(batch.positions, wanted))
            texts = [batch.texts[place] or "" for place in here]
            members.add(part.path, batch.positions[here], texts, shingling)


class _Members:
    """The members of a block, with the sets found so far."""

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
        self._sets: list[ShingleSet | None] = [None] * members.num_rows
        self._clusters = numbers_in(members["cluster"]).tolist()
        self._seen: set[tuple[int, int]] = set()

    def rows_of(self, path: str) -> npt.NDArray[np.int64]:
        if path not in self._files:
            return np.zeros(0, np.int64)
        rows = self._rows[self._places == self._files.index(path)]
        return np.asarray(np.sort(rows))

    def add(
        self, path: str, rows: npt.NDArray[np.int64], texts: list[str], shingling: Shingling
    ) -> None:
        file = self._files.index(path) if len(rows) else -1
        for row, numbers in zip(rows.tolist(), shingle_sets(shingling, texts), strict=True):
            self._put(self._at[file, row], numbers)

    def _put(self, number: int, numbers: ShingleSet) -> None:
        digest = shingles_digest(numbers)
        self._digests[number] = digest
        if (self._clusters[number], digest) not in self._seen:
            self._seen.add((self._clusters[number], digest))
            self._sets[number] = numbers

    def table(self) -> pa.Table:
        table = self._members.append_column(SHINGLES_DIGEST, binary_column(self._digests))
        return table.append_column(SHINGLES, sets_column(self._sets))


@dataclass
class SplitClusters:
    """The group of each document, numbered by the position of its leader, and comparison counts."""

    groups: npt.NDArray[np.int64]
    compared: int = 0
    """Pairs of documents that were compared, without equal ones."""

    rejected: int = 0
    """Compared pairs that were not similar enough."""


def split_clusters(
    digests: U64Array,
    sets: Sequence[ShingleSet],
    clusters: U64Array,
    is_earlier: npt.NDArray[np.bool_],
    threshold: float,
) -> SplitClusters:
    """Split clusters.

    Documents come cluster by cluster, the best of each first. The `is_earlier` ones are of earlier
    crawls: they come before all others and are always leaders.
    """
    found = SplitClusters(np.arange(len(clusters)))
    names = digests.tolist()
    for start, end in run_edges(clusters):
        if end - start > 1:
            _split_cluster(found, start, names[start:end], sets[start:end], is_earlier, threshold)
    return found


def _split_cluster(
    found: SplitClusters,
    start: int,
    digests: list[int],
    sets: Sequence[ShingleSet],
    is_earlier: npt.NDArray[np.bool_],
    threshold: float,
) -> None:
    distinct = {
        digest: numbers for digest, numbers in zip(digests, sets, strict=True) if len(numbers)
    }
    leaders = (
        Leaders(threshold) if len(distinct) <= FEW_DOCUMENTS else ManyLeaders(threshold, distinct)
    )
    leader_of_digest: dict[int, int] = {}
    for place, digest in enumerate(digests, start):
        if digest not in leader_of_digest:
            numbers = distinct.get(digest, _NO_SHINGLES)
            leader = None if is_earlier[place] else leaders.leader_of(numbers, digest)
            if leader is None:
                leaders.add(place, numbers, digest)
                leader = place
            leader_of_digest[digest] = leader
        found.groups[place] = leader_of_digest[digest]
    found.compared += leaders.compared
    found.rejected += leaders.rejected


_NO_SHINGLES = np.zeros(0, np.uint32)


class Leaders:
    """The documents of a cluster that are kept so far."""

    def __init__(self, threshold: float) -> None:
        self.compared = self.rejected = 0
        self._threshold = threshold
        self._sets: dict[int, ShingleSet] = {}

    def add(self, place: int, numbers: ShingleSet, digest: int) -> None:
        self._sets[place] = numbers

    def leader_of(self, numbers: ShingleSet, digest: int) -> int | None:
        """Return the first leader that a document is similar enough to."""
        for place in self._candidates(digest):
            self.compared += 1
            if self._is_similar(numbers, self._sets[place]):
                return place
            self.rejected += 1
        return None

    def _candidates(self, digest: int) -> Iterable[int]:
        return self._sets

    def _is_similar(self, one: ShingleSet, other: ShingleSet) -> bool:
        few, many = sorted((len(one), len(other)))
        return few >= self._threshold * many and jaccard(one, other) >= self._threshold


class ManyLeaders(Leaders):
    """Leaders found by their rarest shingles.

    Two similar documents of n shingles share n * threshold of them. So they share one of the first
    n - n * threshold + 1 in any order; here rare shingles of the cluster come first (Chaudhuri et
    al., A Primitive Operator for Similarity Joins in Data Cleaning, 2006).
    """

    def __init__(self, threshold: float, sets: Mapping[int, ShingleSet]) -> None:
        super().__init__(threshold)
        self._prefixes = _prefixes(sets, threshold)
        self._places: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, place: int, numbers: ShingleSet, digest: int) -> None:
        super().add(place, numbers, digest)
        for shingle in self._prefixes.get(digest, ()):
            places = self._places[shingle]
            if len(places) < MAX_LEADERS:
                places.append(place)

    def _candidates(self, digest: int) -> Iterable[int]:
        shared: Counter[int] = Counter()
        for shingle in self._prefixes.get(digest, ()):
            if shingle in self._places:
                shared.update(self._places[shingle])
        if len(shared) <= MAX_LEADERS:
            return sorted(shared)
        best = sorted(shared, key=lambda place: (-shared[place], place))
        return sorted(best[:MAX_LEADERS])


def _prefixes(sets: Mapping[int, ShingleSet], threshold: float) -> dict[int, list[int]]:
    """Return, by digest, shingles of which any two similar documents share at least one."""
    every, counts = np.unique(np.concatenate(list(sets.values())), return_counts=True)
    ranks = np.empty(len(every), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(every))
    found = {}
    for digest, numbers in sets.items():
        length = len(numbers) - math.ceil(threshold * len(numbers) - 1e-9) + 1
        ordered = np.sort(ranks[np.searchsorted(every, numbers)])
        found[digest] = ordered[:length].tolist()
    return found
