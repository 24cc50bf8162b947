"""Signing: the first pass, which computes hashes and the keys to find duplicates by."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from curator_core import DocumentBatch, ProcessingStage, Rejected
from curator_dedup.counting import COUNTS
from curator_dedup.folders import batch_for
from curator_dedup.hashes.columns import hash_column, priority_column
from curator_dedup.hashes.distances import Words, words_from_bytes
from curator_dedup.hashes.ids import id_column
from curator_dedup.hashes.matching import BANDS

from curator_image.batches import IMAGE, ImageBatch
from curator_image.decoding import Pixels
from curator_image.duplicates.bands import bands_for
from curator_image.duplicates.identities import ids_of, names_of
from curator_image.hashing.fingerprints import SHAPES, Hashes, HashKind
from curator_image.hashing.stages import VIEWS, hashes_of, small_of
from curator_image.measuring.judging import pictures_of
from curator_image.views import View

CompareBy: TypeAlias = Literal["bytes", "pixels", "phash", "dhash", "pdq"]
"""How to compare: equal files, equal pixels, or perceptual hashes within a few bits."""

PERCEPTUAL = get_args(HashKind)
PICTURES = "pictures"

Flags: TypeAlias = npt.NDArray[np.bool_]


def bits_of(by: CompareBy) -> int:
    return SHAPES[by].bits if by in PERCEPTUAL else 128  # type: ignore[index]


@dataclass(frozen=True)
class SigningOptions:
    """How to make pictures comparable."""

    by: CompareBy
    threshold: int
    expected: int
    """Estimated number of pictures, which determines the number of keys."""

    min_detail: float
    priority_field: str | None = None


class _Signed(NamedTuple):
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

    options: SigningOptions
    partitions: int

    def inputs(self) -> Sequence[str]:
        more = () if self.options.priority_field is None else (self.options.priority_field,)
        return (IMAGE, *more)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def process(self, task: ImageBatch) -> Iterator[DocumentBatch | Rejected]:
        signed = self._signed(task)
        yield from signed.rejected
        if not signed.batch.num_items:
            return
        ids = ids_of(signed.batch)
        yield batch_for(PICTURES, self._pictures(signed, ids), key="doc", partitions=1)
        bands = self._bands(signed, ids)
        if bands.num_rows:
            yield batch_for(BANDS, bands, key="key", hashed=True, partitions=self.partitions)

    def _signed(self, task: ImageBatch) -> _Signed:
        by = self.options.by
        if by == "bytes":
            hashes = _digests([bytes(memoryview(data)) for data in task.encoded])
            return _Signed(task, hashes, np.ones(len(hashes), np.bool_), [])
        if by == "pixels":
            seen = task.measure(View(), _digest_of)
            hashes = np.frombuffer(b"".join(seen.values), np.uint8).reshape(-1, 16)
            return _Signed(seen.batch, hashes, np.ones(len(hashes), np.bool_), seen.rejected)
        small = task.measure(VIEWS[by], small_of(by))
        spread = [float(picture.std()) for picture in small.values]
        detailed = np.array(spread, np.float64) >= self.options.min_detail
        return _Signed(small.batch, hashes_of(small.values, by), detailed, small.rejected)

    def _pictures(self, signed: _Signed, ids: Words) -> pa.Table:
        pictures = pictures_of(signed.batch)
        names = names_of(signed.batch)
        told = {"pictures": len(ids), "flat": int((~signed.has_detail).sum())}
        columns = {
            "doc": id_column(ids),
            "hash": hash_column(signed.hashes),
            "pixels": [self._size(picture) for picture in pictures],
            "bytes": [memoryview(picture.encoded).nbytes for picture in pictures],
            "priority": priority_column(signed.batch.data, self.options.priority_field),
            "source": [source for source, _ in names],
            "key": [key for _, key in names],
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})

    def _size(self, picture: object) -> int:
        """Return the number of pixels; 0 for equal files, whose sizes are equal anyway."""
        header = getattr(picture, "header", None) if self.options.by != "bytes" else None
        return 0 if header is None else header.width * header.height

    def _bands(self, signed: _Signed, ids: Words) -> pa.Table:
        rows = np.flatnonzero(signed.has_detail)
        options = self.options
        bands = bands_for(bits_of(options.by), options.threshold, options.expected)
        keys = bands.keys(words_from_bytes(signed.hashes[rows]))
        every = np.repeat(rows, bands.count)
        return pa.table(
            {
                "key": id_column(keys.reshape(-1)),
                "hash": hash_column(signed.hashes[every]),
                "doc": id_column(ids[every]),
                "band": pa.array(np.tile(np.arange(bands.count, dtype=np.int16), len(rows))),
            }
        )


def _digests(files: Sequence[bytes]) -> Hashes:
    return np.frombuffer(b"".join(map(xxhash.xxh3_128_digest, files)), np.uint8).reshape(-1, 16)


def _digest_of(pixels: Pixels) -> bytes:
    """Hash the shape along with the pixels."""
    shape = repr(pixels.shape).encode()
    return xxhash.xxh3_128_digest(shape + np.ascontiguousarray(pixels).tobytes())
