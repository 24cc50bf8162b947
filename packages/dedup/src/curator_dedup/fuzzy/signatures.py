"""Signatures: turn texts into a number for each band, in numpy or compiled, with equal results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curator_dedup.engines import is_compiled
from curator_dedup.fuzzy.letters import letters
from curator_dedup.fuzzy.permutations import Numbers, Permutations
from curator_dedup.fuzzy.shingles import Counts, Shingling, run_factors
from curator_dedup.mixing import Words

Known = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Signing:
    """Computes the signatures of texts."""

    shingling: Shingling
    permutations: Permutations

    def keys(self, texts: Sequence[str | None]) -> tuple[Words, Known]:
        """Return a row of band keys for each text, and a mask of the texts that have any."""
        minhashes, known = self.minhashes(texts)
        if not is_compiled():
            return self.permutations.keys(minhashes), known
        from curator_dedup.compiled.kernels import make_keys

        keys = np.empty((len(minhashes), self.permutations.bands), np.uint64)
        make_keys(minhashes, self.permutations.rows, keys)
        return keys, known

    def minhashes(self, texts: Sequence[str | None]) -> tuple[Numbers, Known]:
        if is_compiled():
            return _compiled(self, texts)
        shingles, counts = self.shingling.of([text or "" for text in texts])
        known = counts > 0
        found = np.full((len(texts), len(self.permutations.factors)), 0xFFFFFFFF, np.uint32)
        found[known] = self.permutations.minhashes(shingles, counts[known])
        return found, known


def shingles_of(shingling: Shingling, texts: Sequence[str]) -> tuple[Numbers, Counts]:
    """Return 32-bit shingles of all texts, concatenated, and the number of shingles of each."""
    if not is_compiled():
        shingles, counts = shingling.of(texts)
        return (shingles >> np.uint64(32)).astype(np.uint32), counts
    content = _bytes_of(texts)
    found = np.empty(len(content[0]) + len(texts) + 1, np.uint32)
    nothing = np.zeros(0, np.uint32)
    minhashes = np.zeros((len(texts), 0), np.uint32)
    counts = _run_kernel(shingling, content, (nothing, nothing), minhashes, found)
    return found[: counts.sum()], counts


def _compiled(signing: Signing, texts: Sequence[str | None]) -> tuple[Numbers, Known]:
    permutations = signing.permutations
    orders = (permutations.factors, permutations.shifts)
    minhashes = np.full((len(texts), len(permutations.factors)), 0xFFFFFFFF, np.uint32)
    nothing = np.zeros(0, np.uint32)
    counts = _run_kernel(signing.shingling, _bytes_of(texts), orders, minhashes, nothing)
    return minhashes, counts > 0


def _run_kernel(
    shingling: Shingling,
    content: tuple[Any, Any],
    orders: tuple[Numbers, Numbers],
    minhashes: Numbers,
    shingles: Numbers,
) -> Counts:
    """Fill in minhashes, or shingles if they have a buffer; return the counts of the kernel."""
    from curator_dedup.compiled.kernels import sign_characters, sign_words

    data, edges = content
    counts = np.zeros(len(minhashes), np.int64)
    known_letters = letters(shingling.normalize)
    table, size = known_letters.table, shingling.characters
    spans: tuple[Any, Any] = (edges[:-1], edges[1:])
    results: tuple[Any, ...] = (orders, minhashes, shingles, counts)
    first = 0
    while True:
        if size is not None:
            told = sign_characters(data, *spans, first, table, size, *results)
        else:
            factors = np.array(run_factors(shingling.words or 1), np.uint64)
            told = sign_words(data, *spans, first, table, factors, *results)
        if told < 0:
            return counts
        first, page = divmod(told, 8192)
        known_letters.fill(page)


def _bytes_of(texts: Sequence[str | None]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    try:
        column = pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # unpaired surrogates, which UTF-8 cannot encode
        column = pa.array(
            [text and text.encode("utf-8", "surrogatepass") for text in texts], pa.large_binary()
        )
    _, offsets, content = column.buffers()
    data = np.frombuffer(content, np.uint8) if content else np.zeros(0, np.uint8)
    return data, np.frombuffer(offsets, np.int64)[: len(texts) + 1]
