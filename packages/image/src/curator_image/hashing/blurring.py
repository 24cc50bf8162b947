"""Blurring for PDQ: average each picture twice over boxes and sample it at 64 by 64 points.

Both steps are linear and separable, so one matrix per side does all of it.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

SIDE = 64

Weights = npt.NDArray[np.float32]


def blurred(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return 64 by 64 levels of a grey picture of any size."""
    height, width = grey.shape
    return np.asarray(weights(height) @ grey.astype(np.float32) @ weights(width).T)


@lru_cache(maxsize=256)
def weights(length: int) -> Weights:
    """Return the weight of each pixel along one side in each of 64 samples."""
    added = np.zeros((SIDE, length))
    for sample in range(SIDE):
        low, high = _window(int((sample + 0.5) * length / SIDE), length)
        for place in range(low, high):
            start, end = _window(place, length)
            added[sample, start:end] += 1 / ((high - low) * (end - start))
    return added.astype(np.float32)


def _window(place: int, length: int) -> tuple[int, int]:
    """Return the box around a pixel, clipped at the ends."""
    window = -(-length // (2 * SIDE))
    ahead = (window + 2) // 2 - 1
    return max(place - (window - 1 - ahead), 0), min(place + ahead + 1, length)
