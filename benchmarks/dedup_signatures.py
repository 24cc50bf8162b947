"""Figures of signatures: how often documents of a known similarity share a band."""

import math
import random
from collections.abc import Iterator

from curator_dedup.fuzzy.minhash import Permutations, Signing
from curator_dedup.fuzzy.shingles import Shingling
from dedup_sizes import Sizes
from measuring.figures import Figure

BANDS, ROWS = 14, 8
SIMILARITIES = (0.5, 0.6, 0.7, 0.8, 0.9)

_UNION = 600
_AT_ONCE = 200
_Z_99 = 2.5758


def signatures(sizes: Sizes) -> Iterator[Figure]:
    """A figure for each similarity; chance alone misses one interval in a hundred."""
    for similarity in SIMILARITIES:
        yield _figure(similarity, sizes.pairs)


def _figure(similarity: float, pairs: int) -> Figure:
    signing = Signing(Shingling(1, None, False), Permutations(BANDS, ROWS, 3))
    hits = 0
    for texts in _lots(similarity, pairs):
        keys, _ = signing.keys(texts)
        hits += int((keys[::2] == keys[1::2]).any(axis=1).sum())
    expected = 1 - (1 - similarity**ROWS) ** BANDS
    margin = _Z_99 * math.sqrt(expected * (1 - expected) / pairs) + 0.5 / pairs
    found = hits / pairs
    return Figure(
        f"{pairs:,} pairs of similarity {similarity:g} that share one of {BANDS} bands of {ROWS}",
        f"{expected:.4f} ± {margin:.4f} (binomial, 99 %)",
        f"{found:.4f}",
        abs(found - expected) <= margin,
    )


def _lots(similarity: float, pairs: int) -> Iterator[list[str]]:
    """Texts two by two, of which exactly this share of all words is common."""
    draw = random.Random(similarity)
    shared = round(_UNION * similarity)
    alone = (_UNION - shared) // 2
    for start in range(0, pairs, _AT_ONCE):
        texts = []
        for _ in range(min(_AT_ONCE, pairs - start)):
            words = [f"{draw.getrandbits(50):x}" for _ in range(shared + 2 * alone)]
            common, one, other = words[:shared], words[shared:-alone], words[-alone:]
            texts += [" ".join(common + one), " ".join(common + other)]
        yield texts
