"""Cosine transforms of many small pictures at once, as matrix products."""

from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@cache
def cosines(first: int, rows: int, size: int) -> Floats:
    """Return `rows` rows of the unnormalized DCT-II of `size` numbers, starting at `first`."""
    frequencies = np.arange(first, first + rows)[:, None]
    places = 2 * np.arange(size)[None, :] + 1
    return np.asarray(np.cos(np.pi / (2 * size) * frequencies * places))


def lowest_frequencies(
    squares: npt.NDArray[np.uint8] | npt.NDArray[np.float32], first: int, rows: int
) -> Floats:
    """Return the same frequency range in both directions for squares of equal size."""
    matrix = cosines(first, rows, squares.shape[-1])
    return np.asarray(matrix @ squares.astype(np.float64) @ matrix.T)
