"""Identities: a 64-bit id for each picture, derived from its source and key."""

import re
from hashlib import blake2b
from itertools import repeat

import numpy as np
from curator_dedup.hashes.distances import Words

from curator_image.batches import KEY, SOURCE, ImageBatch

_NUMBER = re.compile(r"\d+$")


def ids_of(batch: ImageBatch) -> Words:
    raw = b"".join(_digest(source, key) for source, key in names_of(batch))
    return np.frombuffer(raw, np.uint64)


def names_of(batch: ImageBatch) -> list[tuple[str, str]]:
    """Return the source and the key of each picture."""
    keys = batch.data.column(KEY).to_pylist()
    sources = batch.data.column(SOURCE).to_pylist() if SOURCE in batch.columns() else repeat(None)
    return [(source or "", str(key)) for source, key in zip(sources, keys, strict=False)]


def _digest(source: str, key: str) -> bytes:
    name = f"{source}\n{key}".encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=8).digest()


def in_order(source: str, key: str) -> tuple[str, int, str]:
    """Return a sort key for the order in the source: `byte 512` sorts before `byte 2048`."""
    match = _NUMBER.search(source)
    if match is None:
        return source, 0, key
    return source[: match.start()], int(match[0]), key
