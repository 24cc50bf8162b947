"""MinHash: permutations, signatures, and the first pass, which writes a key per band of a document.

Each permutation orders all shingles differently; the first shingle of a document in that order is
one minhash. The probability that two documents share it is their Jaccard similarity. Numpy and
compiled loops give equal results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart, NodeInfo, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.model import optional_dependencies
from curator_core.model.ids import fingerprint

from curator_dedup.columns import ID, binary_column
from curator_dedup.fuzzy.shingles import Counts, Shingling, character_codes, run_factors
from curator_dedup.hashing import STEP, U64Array, mixed
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.group import Mask
from curator_dedup.passes.list import block_id, main_files
from curator_dedup.passes.sign import EMPTY, NO_RECORD, TEXT, DocumentCounts, DocumentRows
from curator_dedup.text_reader import TextBatch, TextFields, priorities_of, read_texts

ENGINE_VARIABLE = "CURATOR_DEDUP_ENGINE"


def is_compiled() -> bool:
    """Return whether to use compiled loops. `auto` uses them if numba is installed."""
    return optional_dependencies.is_compiled(ENGINE_VARIABLE, "numpy", "curator-dedup[fast]")


Numbers = npt.NDArray[np.uint32]

_SHINGLES = 1024
"""Number of shingles per step: all of their minhashes fit in a core's cache."""


@dataclass(frozen=True)
class Permutations:
    """The permutations for `bands` bands of `rows` minhashes each."""

    bands: int
    rows: int
    seed: int
    factors: Numbers = field(init=False, repr=False)
    shifts: Numbers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = 2 * self.bands * self.rows
        with np.errstate(over="ignore"):
            drawn = mixed(np.uint64(self.seed) * STEP + STEP * np.arange(1, count + 1, dtype="u8"))
        halves = (drawn >> np.uint64(32)).astype(np.uint32).reshape(2, -1)
        object.__setattr__(self, "factors", halves[0] | np.uint32(1))
        object.__setattr__(self, "shifts", halves[1].copy())

    def minhashes(self, shingles: U64Array, counts: npt.NDArray[np.int64]) -> Numbers:
        """Return the minhashes of documents; `counts` are their numbers of shingles, at least 1."""
        points = (shingles >> np.uint64(32)).astype(np.uint32)
        found = np.full((len(counts), len(self.factors)), 0xFFFFFFFF, np.uint32)
        ends = np.cumsum(counts)
        for start in range(0, len(points), _SHINGLES):
            stop = min(start + _SHINGLES, len(points))
            first = int(np.searchsorted(ends, start, "right"))
            last = int(np.searchsorted(ends, stop - 1, "right"))
            borders = np.concatenate(([0], ends[first:last] - start))
            values = points[start:stop, None] * self.factors
            values += self.shifts
            here = found[first : last + 1]
            np.minimum(here, np.minimum.reduceat(values, borders, axis=0), out=here)
        return found

    def keys(self, minhashes: Numbers) -> U64Array:
        """Return a number for each document and band that represents the minhashes of the band."""
        by_row = minhashes.reshape(len(minhashes), self.bands, self.rows).astype(np.uint64)
        keys = np.broadcast_to(np.arange(1, self.bands + 1, dtype=np.uint64), by_row.shape[:2])
        for row in range(self.rows):
            keys = mixed((keys ^ by_row[:, :, row]) * STEP)
        return keys


@dataclass(frozen=True)
class Signing:
    """Computes the signatures of texts."""

    shingling: Shingling
    permutations: Permutations

    def compile(self) -> None:
        """Compile once per node, for all of its workers."""
        if is_compiled():
            self.keys(["a"])

    def keys(self, texts: Sequence[str | None]) -> tuple[U64Array, Mask]:
        """Return a row of band keys for each text, and a mask of the texts that have any."""
        minhashes, has_keys = self.minhashes(texts)
        if not is_compiled():
            return self.permutations.keys(minhashes), has_keys
        from curator_dedup.fuzzy.kernels import make_keys

        keys = np.empty((len(minhashes), self.permutations.bands), np.uint64)
        make_keys(minhashes, self.permutations.rows, keys)
        return keys, has_keys

    def minhashes(self, texts: Sequence[str | None]) -> tuple[Numbers, Mask]:
        if is_compiled():
            return _compiled_minhashes(self, texts)
        shingles, counts = self.shingling.of([text or "" for text in texts])
        has_shingles = counts > 0
        minhashes = np.full((len(texts), len(self.permutations.factors)), 0xFFFFFFFF, np.uint32)
        minhashes[has_shingles] = self.permutations.minhashes(shingles, counts[has_shingles])
        return minhashes, has_shingles


def shingles_of(shingling: Shingling, texts: Sequence[str]) -> tuple[Numbers, Counts]:
    """Return 32-bit shingles of all texts, concatenated, and the number of shingles of each."""
    if not is_compiled():
        shingles, counts = shingling.of(texts)
        return (shingles >> np.uint64(32)).astype(np.uint32), counts
    content = _text_bytes(texts)
    found = np.empty(len(content[0]) + len(texts) + 1, np.uint32)
    empty = np.zeros(0, np.uint32)
    minhashes = np.zeros((len(texts), 0), np.uint32)
    counts = _run_kernel(shingling, content, (empty, empty), minhashes, found)
    return found[: counts.sum()], counts


def _compiled_minhashes(signing: Signing, texts: Sequence[str | None]) -> tuple[Numbers, Mask]:
    permutations = signing.permutations
    orders = (permutations.factors, permutations.shifts)
    minhashes = np.full((len(texts), len(permutations.factors)), 0xFFFFFFFF, np.uint32)
    empty = np.zeros(0, np.uint32)
    counts = _run_kernel(signing.shingling, _text_bytes(texts), orders, minhashes, empty)
    return minhashes, counts > 0


def _run_kernel(
    shingling: Shingling,
    content: tuple[Any, Any],
    orders: tuple[Numbers, Numbers],
    minhashes: Numbers,
    shingles: Numbers,
) -> Counts:
    """Fill in minhashes, or shingles if they have a buffer; return the counts of the kernel."""
    from curator_dedup.fuzzy.kernels import sign_characters, sign_words

    data, edges = content
    counts = np.zeros(len(minhashes), np.int64)
    codes = character_codes(shingling.normalize)
    table, size = codes.table, shingling.characters
    spans: tuple[Any, Any] = (edges[:-1], edges[1:])
    results: tuple[Any, ...] = (orders, minhashes, shingles, counts)
    first = 0
    while True:
        if size is not None:
            result = sign_characters(data, *spans, first, table, size, *results)
        else:
            factors = np.array(run_factors(shingling.words or 1), np.uint64)
            result = sign_words(data, *spans, first, table, factors, *results)
        if result < 0:
            return counts
        first, page = divmod(result, 8192)
        codes.fill(page)


def _text_bytes(texts: Sequence[str | None]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    try:
        column = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # unpaired surrogates, which UTF-8 cannot encode
        column = pa.array(
            [text and text.encode("utf-8", "surrogatepass") for text in texts], pa.large_binary()
        )
    _, offsets, content = column.buffers()
    data = np.frombuffer(content, np.uint8) if content else np.zeros(0, np.uint8)
    return data, np.frombuffer(offsets, np.int64)[: len(texts) + 1]


COUNTED, EARLIER = 3, 4
"""More values of the column `state`. `COUNTED` is the only row of a block that would have none, so
that its counts are written. `EARLIER` is a document of an earlier crawl."""


@dataclass(frozen=True)
class SigningOptions:
    """How documents are compared. Keys are comparable only if all of these options are equal."""

    word_ngrams: int | None = 5
    char_ngrams: int | None = None
    normalize: bool = True
    num_bands: int = 14
    minhashes_per_band: int = 8
    seed: int = 42

    @property
    def signing(self) -> Signing:
        shingling = Shingling(self.word_ngrams, self.char_ngrams, self.normalize)
        return Signing(shingling, Permutations(self.num_bands, self.minhashes_per_band, self.seed))


@dataclass
class DocumentSigning(ProcessingStage[FileGroup, DocumentBatch]):
    """Compute the signature of every document of a block.

    Yields one table per block, with a row for each band of a document: key, block, file, row (the
    byte where a line begins, or the row number in a Parquet file), state (0 text, 1 empty, 2 not a
    record; the last two have no key), the priority if there is a priority field, and with an index
    `origin`, a fingerprint of path and version of the file.
    """

    fans_out = False

    options: SigningOptions = field(default_factory=SigningOptions)
    text_field: str = "text"
    priority_field: str | None = None
    keep_empty: bool = True
    origins: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup_on_node(self, node: NodeInfo) -> None:
        self.options.signing.compile()

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        fields = TextFields(self.text_field, self.priority_field)
        table = _BandTable(self)
        for part in main_files(task):
            for batch in read_texts(part, fields, self.storage_options):
                yield from batch.rejected
                table.add(part, batch)
        if table.has_documents:
            yield DocumentBatch(table.finish(block_id(main_files(task))))


class _BandTable:
    """Collects the keys of documents: a row for each band, and one for each other document."""

    def __init__(self, stage: DocumentSigning) -> None:
        self._rows = DocumentRows(
            with_priority=stage.priority_field is not None,
            origin=file_origin if stage.origins else None,
        )
        self._counts = DocumentCounts()
        self._signing = stage.options.signing
        self._keep_empty = stage.keep_empty
        self._keys: list[pa.Array] = []
        self._last_part: FilePart | None = None

    @property
    def has_documents(self) -> bool:
        return bool(self._counts["documents"] or self._counts["no_records"])

    def add(self, part: FilePart, batch: TextBatch) -> None:
        keys, has_keys = self._signing.keys(batch.texts)
        priorities = None if batch.scores is None else priorities_of(part, batch.scores)
        if not has_keys.all():
            keys = keys[has_keys]
            priorities = priorities if priorities is None else priorities[has_keys]
        bands = self._signing.permutations.bands
        self._keys.append(binary_column(keys.reshape(-1)))
        self._rows.add(part, batch.positions[has_keys], TEXT, priorities, repeat=bands)
        unsigned = np.flatnonzero(~has_keys)
        texts = [batch.texts[row] for row in unsigned]
        is_empty = np.array([not text or text.isspace() for text in texts], np.bool_)
        if not self._keep_empty:
            self._add_unsigned(part, batch.positions[unsigned[is_empty]], EMPTY)
        self._add_unsigned(part, batch.bad, NO_RECORD)
        self._counts.add(part.path, batch, empty=int(is_empty.sum()))
        self._last_part = part

    def _add_unsigned(self, part: FilePart, positions: npt.NDArray[np.int64], state: int) -> None:
        self._keys.append(pa.nulls(len(positions), ID))
        self._rows.add(part, positions, state)

    def finish(self, block: str) -> pa.Table:
        if not self._rows.count and self._last_part is not None:
            self._add_unsigned(self._last_part, np.zeros(1, np.int64), COUNTED)
        columns = {"key": pa.chunked_array(self._keys, ID), **self._rows.columns(block)}
        return with_counts(pa.table(columns), self._counts)


def file_origin(part: FilePart) -> str:
    """Return a fingerprint of the path and version of a file."""
    return fingerprint(part.path, part.version)
