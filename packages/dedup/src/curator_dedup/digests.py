"""Digests: 128-bit hashes of texts."""

import unicodedata
from collections.abc import Iterable, Sequence

import pyarrow as pa
import xxhash
from curator_core.model.unicode import stream_safe

DIGEST = pa.binary(16)


def digests_of(texts: Iterable[bytes]) -> list[bytes]:
    """Return the XXH3 hash of each text: fast, but not safe against deliberate collisions."""
    return list(map(xxhash.xxh3_128_digest, texts))


def normalized(texts: Sequence[str | None]) -> list[str | None]:
    """Return texts in lower case, with whitespace collapsed and accents in one form (NFC)."""
    return [None if text is None else _normalized(text) for text in texts]


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).lower().split())
