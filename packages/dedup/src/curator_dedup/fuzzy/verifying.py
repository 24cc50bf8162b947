"""Verifying: split clusters by the exact similarity of their documents.

Documents are processed best first, those of earlier crawls before all others. Each joins the first
leader that it is similar enough to, or becomes a leader itself. Each removed document has therefore
been compared with the one that is kept, and no document is removed because of a chain in which only
neighbours are similar.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import read_partition, united

from curator_dedup.blocks import block_id, decisions_of, inputs_of
from curator_dedup.fuzzy.sets import (
    SHINGLES,
    Set,
    digest_of,
    jaccard,
    sets_column,
    sets_of,
)
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.signing import KEY, SigningOptions
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words
from curator_dedup.readings import TextFields, readings_of

DIGEST = "digest"

FEW = 16
"""Up to this many distinct documents in a cluster, each is compared with all leaders."""

MOST_LEADERS = 256
"""Maximum number of leaders per shingle, and of leaders that a document is compared with, so that
no cluster takes quadratic time. Where more leaders share their rarest shingles, a few duplicates
may be kept; no document is removed by mistake."""


@dataclass
class Gathering(ProcessingStage[FileGroup, DocumentBatch]):
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
        for reading in readings_of(part, fields, self.storage_options, wanted):
            here = np.flatnonzero(np.isin(reading.positions, wanted))
            texts = [reading.texts[place] or "" for place in here]
            found.add(part.path, reading.positions[here], texts, shingling)


class _Found:
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
        self._sets: list[Set | None] = [None] * members.num_rows
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
        file = self._files.index(path) if len(rows) else -1
        for row, numbers in zip(rows.tolist(), sets_of(shingling, texts), strict=True):
            self._put(self._at[file, row], numbers)

    def _put(self, number: int, numbers: Set) -> None:
        digest = digest_of(numbers)
        self._digests[number] = digest
        if (self._clusters[number], digest) not in self._seen:
            self._seen.add((self._clusters[number], digest))
            self._sets[number] = numbers

    def table(self) -> pa.Table:
        table = self._members.append_column(DIGEST, numbers_column(self._digests, KEY))
        return table.append_column(SHINGLES, sets_column(self._sets))


@dataclass
class Verified:
    """The group of each document, numbered by the position of its leader, and comparison counts."""

    groups: npt.NDArray[np.int64]
    compared: int = 0
    """Pairs of documents that were compared, without equal ones."""

    rejected: int = 0
    """Compared pairs that were not similar enough."""


def verified(
    digests: Words,
    sets: Sequence[Set],
    clusters: Words,
    is_fixed: npt.NDArray[np.bool_],
    threshold: float,
) -> Verified:
    """Split clusters.

    Documents come cluster by cluster, the best of each first. The `is_fixed` ones are of earlier
    crawls: they come before all others and are always leaders.
    """
    found = Verified(np.arange(len(clusters)))
    names = digests.tolist()
    edges = (np.flatnonzero(np.diff(clusters)) + 1).tolist()
    for start, end in zip([0, *edges], [*edges, len(clusters)], strict=True):
        if end - start > 1:
            _divide(found, start, names[start:end], sets[start:end], is_fixed, threshold)
    return found


def _divide(
    found: Verified,
    start: int,
    digests: list[int],
    sets: Sequence[Set],
    is_fixed: npt.NDArray[np.bool_],
    threshold: float,
) -> None:
    different = {
        digest: numbers for digest, numbers in zip(digests, sets, strict=True) if len(numbers)
    }
    leaders = Leaders(threshold) if len(different) <= FEW else ManyLeaders(threshold, different)
    decided: dict[int, int] = {}
    for place, digest in enumerate(digests, start):
        if digest not in decided:
            numbers = different.get(digest, _NOTHING)
            leader = None if is_fixed[place] else leaders.leader_of(numbers, digest)
            if leader is None:
                leaders.add(place, numbers, digest)
                leader = place
            decided[digest] = leader
        found.groups[place] = decided[digest]
    found.compared += leaders.compared
    found.rejected += leaders.rejected


_NOTHING = np.zeros(0, np.uint32)


class Leaders:
    """The documents of a cluster that are kept so far."""

    def __init__(self, threshold: float) -> None:
        self.compared = self.rejected = 0
        self._threshold = threshold
        self._sets: dict[int, Set] = {}

    def add(self, place: int, numbers: Set, digest: int) -> None:
        self._sets[place] = numbers

    def leader_of(self, numbers: Set, digest: int) -> int | None:
        """Return the first leader that a document is similar enough to."""
        for place in self._candidates(digest):
            self.compared += 1
            if self._is_similar(numbers, self._sets[place]):
                return place
            self.rejected += 1
        return None

    def _candidates(self, digest: int) -> Iterable[int]:
        return self._sets

    def _is_similar(self, one: Set, other: Set) -> bool:
        few, many = sorted((len(one), len(other)))
        return few >= self._threshold * many and jaccard(one, other) >= self._threshold


class ManyLeaders(Leaders):
    """Leaders found by their rarest shingles.

    Two similar documents of n shingles share n * threshold of them. So they share one of the first
    n - n * threshold + 1 in any order; here rare shingles of the cluster come first (Chaudhuri et
    al., A Primitive Operator for Similarity Joins in Data Cleaning, 2006).
    """

    def __init__(self, threshold: float, sets: Mapping[int, Set]) -> None:
        super().__init__(threshold)
        self._prefixes = _prefixes(sets, threshold)
        self._places: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, place: int, numbers: Set, digest: int) -> None:
        super().add(place, numbers, digest)
        for shingle in self._prefixes.get(digest, ()):
            places = self._places[shingle]
            if len(places) < MOST_LEADERS:
                places.append(place)

    def _candidates(self, digest: int) -> Iterable[int]:
        shared: Counter[int] = Counter()
        for shingle in self._prefixes.get(digest, ()):
            if shingle in self._places:
                shared.update(self._places[shingle])
        if len(shared) <= MOST_LEADERS:
            return sorted(shared)
        best = sorted(shared, key=lambda place: (-shared[place], place))
        return sorted(best[:MOST_LEADERS])


def _prefixes(sets: Mapping[int, Set], threshold: float) -> dict[int, list[int]]:
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
