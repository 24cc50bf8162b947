"""Perceptual hashes: bits that barely change when a picture is re-encoded or scaled.

Bits are in row order, starting with the highest bit of the first byte. Their hexadecimal digits
equal the output of ImageHash, and for PDQ that of its reference tools.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.errors import hint

from curator_image.decoding import Pixels
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import View

Floats = npt.NDArray[np.float64]


@cache
def _dct_matrix(first: int, rows: int, size: int) -> Floats:
    """Return `rows` rows of the unnormalized DCT-II of `size` numbers, starting at `first`."""
    frequencies = np.arange(first, first + rows)[:, None]
    positions = 2 * np.arange(size)[None, :] + 1
    return np.asarray(np.cos(np.pi / (2 * size) * frequencies * positions))


def _low_frequencies(
    squares: npt.NDArray[np.uint8] | npt.NDArray[np.float32], first: int, rows: int
) -> Floats:
    """Return the same frequency range in both directions for squares of equal size."""
    matrix = _dct_matrix(first, rows, squares.shape[-1])
    return np.asarray(matrix @ squares.astype(np.float64) @ matrix.T)


_PDQ_SIDE = 64

_Weights = npt.NDArray[np.float32]


def downsample_for_pdq(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return 64 by 64 levels of a grey picture of any size."""
    height, width = grey.shape
    return np.asarray(_sample_weights(height) @ grey.astype(np.float32) @ _sample_weights(width).T)


@lru_cache(maxsize=256)
def _sample_weights(length: int) -> _Weights:
    """Return the weight of each pixel along one side in each of 64 samples."""
    added = np.zeros((_PDQ_SIDE, length))
    for sample in range(_PDQ_SIDE):
        low, high = _box_around(int((sample + 0.5) * length / _PDQ_SIDE), length)
        for position in range(low, high):
            start, end = _box_around(position, length)
            added[sample, start:end] += 1 / ((high - low) * (end - start))
    return added.astype(np.float32)


def _box_around(position: int, length: int) -> tuple[int, int]:
    """Return the box around a pixel, clipped at the ends."""
    window = -(-length // (2 * _PDQ_SIDE))
    ahead = (window + 2) // 2 - 1
    return max(position - (window - 1 - ahead), 0), min(position + ahead + 1, length)


HashKind: TypeAlias = Literal["phash", "dhash", "pdq"]

Grey: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
"""Pictures of equal size: number, height, width."""

Hashes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes per picture."""


@dataclass(frozen=True)
class HashShape:
    """Input size and number of bits of a hash."""

    width: int
    height: int
    bits: int


HASH_SHAPES: Mapping[HashKind, HashShape] = {
    "phash": HashShape(32, 32, 64),
    "dhash": HashShape(9, 8, 64),
    "pdq": HashShape(64, 64, 256),
}


def phash(pictures: Grey) -> Hashes:
    """Return whether each of the 64 lowest frequencies of 32 by 32 pixels is above their median."""
    low = _low_frequencies(pictures, 0, 8).reshape(len(pictures), 64)
    return np.packbits(low > np.median(low, axis=1, keepdims=True), axis=1)


def dhash(pictures: Grey) -> Hashes:
    """Return whether each of 8 by 9 pixels is brighter than the one to its left."""
    brighter = pictures[:, :, 1:] > pictures[:, :, :-1]
    return np.packbits(brighter.reshape(len(pictures), 64), axis=1)


def pdq(pictures: Grey) -> Hashes:
    """Return whether each of 256 low frequencies is above their lower median.

    Takes 64 by 64 pixels. The last frequency comes first, as in the reference implementation.
    """
    low = _low_frequencies(pictures, 1, 16).reshape(len(pictures), 256)
    median = np.partition(low, 127, axis=1)[:, 127:128]
    return np.packbits((low > median)[:, ::-1], axis=1)


def pdq_quality(pictures: Grey) -> npt.NDArray[np.int64]:
    """Return the amount of detail, from 0 to 100. The authors distrust hashes below 50."""
    levels = pictures.astype(np.float64)
    total = np.zeros(len(pictures), np.int64)
    for axis in (1, 2):
        steps = np.abs(np.diff(levels, axis=axis) * 100 / 255).astype(np.int64)
        total += steps.sum(axis=(1, 2))
    return np.minimum(total // 90, 100)


_HASH_FUNCTIONS: Mapping[HashKind, Callable[[Grey], Hashes]] = {
    "phash": phash,
    "dhash": dhash,
    "pdq": pdq,
}


_PDQ_VIEW = View(short_side=512, mode="L")
HASH_VIEWS: dict[HashKind, View] = {
    **{
        kind: View(box=(shape.width, shape.height), mode="L", resampling="lanczos")
        for kind, shape in HASH_SHAPES.items()
        if kind != "pdq"
    },
    "pdq": _PDQ_VIEW,
}


@dataclass
class PerceptualHash(ProcessingStage[ImageBatch, ImageBatch]):
    """Add a perceptual hash: phash and dhash as in ImageHash, or PDQ.

    The column is binary with 8 bytes, or 32 for pdq; `.hex()` gives the output of other tools.
    """

    kind: HashKind = "phash"
    """Kind of hash: phash, dhash or pdq."""

    hash_field: str | None = None
    """Column for the hash. Named after the kind by default."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.hash_field or self.kind,)

    def check(self) -> Iterable[str]:
        if self.kind not in get_args(HashKind):
            yield f"kind is {self.kind!r}{hint(str(self.kind), get_args(HashKind))}"

    def process(self, task: ImageBatch) -> list[ImageBatch | Rejected]:
        seen = task.measure(HASH_VIEWS[self.kind], input_function(self.kind))
        column = hash_column(compute_hashes(seen.values, self.kind), self.kind)
        return [seen.batch.with_columns({self.hash_field or self.kind: column}), *seen.rejected]


def compute_hashes(small: Sequence[Grey], kind: HashKind) -> Hashes:
    """Return the hashes of pictures that were already scaled down for this kind."""
    bits = HASH_SHAPES[kind].bits
    if not small:
        return np.zeros((0, bits // 8), np.uint8)
    return _HASH_FUNCTIONS[kind](cast(Grey, np.stack(small)))


def input_function(kind: HashKind) -> Callable[[Pixels], Grey]:
    """Return the function that turns the pixels of `HASH_VIEWS` into the input of this kind."""
    return downsample_for_pdq if kind == "pdq" else _unchanged


def _unchanged(pixels: Pixels) -> Grey:
    return pixels


def hash_column(hashes: Hashes, kind: HashKind) -> pa.Array:
    width = pa.binary(HASH_SHAPES[kind].bits // 8)
    content = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.FixedSizeBinaryArray.from_buffers(width, len(hashes), [None, content])
