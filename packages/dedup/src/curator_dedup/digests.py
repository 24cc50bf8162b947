"""Digests: 128 bits that stand for a text."""

import unicodedata
from collections.abc import Iterable, Sequence

import pyarrow as pa
import xxhash
from curator_core.model.unicode import stream_safe

DIGEST = pa.binary(16)


def digests_of(texts: Iterable[bytes]) -> list[bytes]:
    """XXH3 of each text. Quick, and equal for equal texts only, unless somebody means harm."""
    return list(map(xxhash.xxh3_128_digest, texts))


def normalized(texts: Sequence[str | None]) -> list[str | None]:
    """Texts of which case, kinds and number of spaces, and forms of accents are left out."""
    return [None if text is None else _normalized(text) for text in texts]


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).lower().split())
