"""Signatures: the first pass, which computes hashes and the keys to find duplicates by."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from curator_core import DocumentBatch, ProcessingStage, Rejected
from curator_dedup.columns import binary_column
from curator_dedup.hamming import BANDS, as_words, priority_column
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import batch_for_folder, with_counts

from curator_image.decoding import Pixels
from curator_image.dedup.bands import choose_bands
from curator_image.filters.base import cached_pictures
from curator_image.hashing import (
    HASH_SHAPES,
    HASH_VIEWS,
    Hashes,
    HashKind,
    compute_hashes,
    input_function,
)
from curator_image.image_batch import IMAGE, KEY, SOURCE, ImageBatch
from curator_image.pixel_view import View

_NUMBER = re.compile(r"\d+$")


def picture_ids(batch: ImageBatch) -> U64Array:
    raw = b"".join(_name_digest(source, key) for source, key in picture_names(batch))
    return np.frombuffer(raw, np.uint64)


def picture_names(batch: ImageBatch) -> list[tuple[str, str]]:
    """Return the source and the key of each picture."""
    keys = batch.data.column(KEY).to_pylist()
    sources = batch.data.column(SOURCE).to_pylist() if SOURCE in batch.columns() else repeat(None)
    return [(source or "", str(key)) for source, key in zip(sources, keys, strict=False)]


def _name_digest(source: str, key: str) -> bytes:
    name = f"{source}\n{key}".encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=8).digest()


def order_in_source(source: str, key: str) -> tuple[str, int, str]:
    """Return a sort key for the order in the source: `byte 512` sorts before `byte 2048`."""
    match = _NUMBER.search(source)
    if match is None:
        return source, 0, key
    return source[: match.start()], int(match[0]), key


CompareBy: TypeAlias = Literal["bytes", "pixels", "phash", "dhash", "pdq"]
"""How to compare: equal files, equal pixels, or perceptual hashes within a few bits."""

PERCEPTUAL = get_args(HashKind)
PICTURES = "pictures"

Flags: TypeAlias = npt.NDArray[np.bool_]


def hash_bits(by: CompareBy) -> int:
    return HASH_SHAPES[by].bits if by in PERCEPTUAL else 128  # type: ignore[index]


@dataclass(frozen=True)
class PictureSigningOptions:
    """How to make pictures comparable."""

    by: CompareBy
    threshold: int
    expected: int
    """Estimated number of pictures, which determines the number of keys."""

    min_detail: float
    priority_field: str | None = None


class _HashedBatch(NamedTuple):
    batch: ImageBatch
    hashes: Hashes
    has_detail: Flags
    rejected: list[Rejected]


@dataclass
class PictureSigning(ProcessingStage[ImageBatch, DocumentBatch]):
    """Write two tables for each batch.

    `pictures` has a row for each picture: doc (its id), hash, pixels, bytes, priority, source and
    key. `bands` has a row for each key of each picture with enough detail: key, hash, doc, and
    band, the number of the key.
    """

    fans_out = True

    options: PictureSigningOptions
    partitions: int

    def inputs(self) -> Sequence[str]:
        more = () if self.options.priority_field is None else (self.options.priority_field,)
        return (IMAGE, *more)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def process(self, task: ImageBatch) -> Iterator[DocumentBatch | Rejected]:
        hashed = self._hash_batch(task)
        yield from hashed.rejected
        if not hashed.batch.num_items:
            return
        ids = picture_ids(hashed.batch)
        yield batch_for_folder(PICTURES, self._pictures(hashed, ids), key="doc", partitions=1)
        bands = self._bands(hashed, ids)
        if bands.num_rows:
            yield batch_for_folder(BANDS, bands, key="key", hashed=True, partitions=self.partitions)

    def _hash_batch(self, task: ImageBatch) -> _HashedBatch:
        by = self.options.by
        if by == "bytes":
            hashes = _file_digests([bytes(memoryview(data)) for data in task.encoded])
            return _HashedBatch(task, hashes, np.ones(len(hashes), np.bool_), [])
        if by == "pixels":
            seen = task.measure(View(), _pixel_digest)
            hashes = np.frombuffer(b"".join(seen.values), np.uint8).reshape(-1, 16)
            return _HashedBatch(seen.batch, hashes, np.ones(len(hashes), np.bool_), seen.rejected)
        small = task.measure(HASH_VIEWS[by], input_function(by))
        spread = [float(picture.std()) for picture in small.values]
        detailed = np.array(spread, np.float64) >= self.options.min_detail
        return _HashedBatch(small.batch, compute_hashes(small.values, by), detailed, small.rejected)

    def _pictures(self, hashed: _HashedBatch, ids: U64Array) -> pa.Table:
        pictures = cached_pictures(hashed.batch)
        names = picture_names(hashed.batch)
        counts = {"pictures": len(ids), "flat": int((~hashed.has_detail).sum())}
        columns = {
            "doc": binary_column(ids),
            "hash": binary_column(hashed.hashes),
            "pixels": [self._size(picture) for picture in pictures],
            "bytes": [memoryview(picture.encoded).nbytes for picture in pictures],
            "priority": priority_column(hashed.batch.data, self.options.priority_field),
            "source": [source for source, _ in names],
            "key": [key for _, key in names],
        }
        return with_counts(pa.table(columns), counts)

    def _size(self, picture: object) -> int:
        """Return the number of pixels; 0 for equal files, whose sizes are equal anyway."""
        header = getattr(picture, "header", None) if self.options.by != "bytes" else None
        return 0 if header is None else header.width * header.height

    def _bands(self, hashed: _HashedBatch, ids: U64Array) -> pa.Table:
        rows = np.flatnonzero(hashed.has_detail)
        options = self.options
        bands = choose_bands(hash_bits(options.by), options.threshold, options.expected)
        keys = bands.keys(as_words(hashed.hashes[rows]))
        every = np.repeat(rows, bands.count)
        return pa.table(
            {
                "key": binary_column(keys.reshape(-1)),
                "hash": binary_column(hashed.hashes[every]),
                "doc": binary_column(ids[every]),
                "band": pa.array(np.tile(np.arange(bands.count, dtype=np.int16), len(rows))),
            }
        )


def _file_digests(files: Sequence[bytes]) -> Hashes:
    return np.frombuffer(b"".join(map(xxhash.xxh3_128_digest, files)), np.uint8).reshape(-1, 16)


def _pixel_digest(pixels: Pixels) -> bytes:
    """Hash the shape along with the pixels."""
    shape = repr(pixels.shape).encode()
    return xxhash.xxh3_128_digest(shape + np.ascontiguousarray(pixels).tobytes())
