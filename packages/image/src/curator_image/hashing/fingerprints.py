"""Fingerprints: perceptual hashes of grey pictures of fixed sizes.

Bits are in row order, starting with the highest bit of the first byte. Their hexadecimal digits
equal the output of ImageHash, and for PDQ that of its reference tools.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from curator_image.hashing.cosines import lowest_frequencies

HashKind: TypeAlias = Literal["phash", "dhash", "pdq"]

Grey: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
"""Pictures of equal size: number, height, width."""

Hashes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes per picture."""


@dataclass(frozen=True)
class Shape:
    """Input size and number of bits of a hash."""

    width: int
    height: int
    bits: int


SHAPES: Mapping[HashKind, Shape] = {
    "phash": Shape(32, 32, 64),
    "dhash": Shape(9, 8, 64),
    "pdq": Shape(64, 64, 256),
}


def phash(pictures: Grey) -> Hashes:
    """Return whether each of the 64 lowest frequencies of 32 by 32 pixels is above their median."""
    low = lowest_frequencies(pictures, 0, 8).reshape(len(pictures), 64)
    return np.packbits(low > np.median(low, axis=1, keepdims=True), axis=1)


def dhash(pictures: Grey) -> Hashes:
    """Return whether each of 8 by 9 pixels is brighter than the one to its left."""
    brighter = pictures[:, :, 1:] > pictures[:, :, :-1]
    return np.packbits(brighter.reshape(len(pictures), 64), axis=1)


def pdq(pictures: Grey) -> Hashes:
    """Return whether each of 256 low frequencies is above their lower median.

    Takes 64 by 64 pixels. The last frequency comes first, as in the reference implementation.
    """
    low = lowest_frequencies(pictures, 1, 16).reshape(len(pictures), 256)
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


MADE_BY: Mapping[HashKind, Callable[[Grey], Hashes]] = {"phash": phash, "dhash": dhash, "pdq": pdq}
