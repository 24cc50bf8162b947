"""Hash functions: 128-bit hashes of texts, and mixing of 64-bit numbers."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import xxhash
from curator_core.model.unicode import stream_safe

U64Array: TypeAlias = npt.NDArray[np.uint64]

MIX_A, MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: U64Array) -> U64Array:
    """Return a hash of each number: each input bit changes about half of the output bits, and
    different numbers have different hashes."""
    values = values ^ (values >> np.uint64(30))
    values *= MIX_A
    values ^= values >> np.uint64(27)
    values *= MIX_B
    values ^= values >> np.uint64(31)
    return values


def text_hashes(texts: Iterable[bytes]) -> U64Array:
    """Return the XXH3 hash of each text as two numbers.

    The hash is fast, but not safe against deliberate collisions.
    """
    content = b"".join(map(xxhash.xxh3_128_digest, texts))
    return np.frombuffer(content, np.uint64).reshape(-1, 2)


def normalized(texts: Sequence[str | None]) -> list[str | None]:
    """Return texts in lower case, with whitespace collapsed and accents in one form (NFC)."""
    return [None if text is None else _normalized(text) for text in texts]


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).lower().split())
