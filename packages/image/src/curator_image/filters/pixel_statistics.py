"""Measures of one picture as uint8: grey is height by width, colour has 3 channels."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8]
Counts: TypeAlias = npt.NDArray[np.int64]

_LEVELS = 256


def to_grey(pixels: Pixels) -> Pixels:
    """Return brightness with the weights and integer arithmetic of Pillow (ITU-R 601)."""
    if pixels.ndim == 2:
        return pixels
    red, green, blue = (pixels[..., channel].astype(np.uint32) for channel in range(3))
    weighed = red * 19595 + green * 38470 + blue * 7471 + 0x8000
    return np.asarray(weighed >> 16, np.uint8)


def sharpness(grey: Pixels) -> float:
    """Return the variance of the Laplacian: low if nothing has a sharp edge.

    At the border, a missing neighbour is replaced by the pixel itself.
    """
    levels = grey.astype(np.int16)
    edges = -4 * levels
    edges[1:] += levels[:-1]
    edges[0] += levels[0]
    edges[:-1] += levels[1:]
    edges[-1] += levels[-1]
    edges[:, 1:] += levels[:, :-1]
    edges[:, 0] += levels[:, 0]
    edges[:, :-1] += levels[:, 1:]
    edges[:, -1] += levels[:, -1]
    return float(np.var(edges, dtype=np.float64))


def count_levels(grey: Pixels) -> Counts:
    """Count the pixels of each of 256 levels."""
    return np.bincount(grey.reshape(-1), minlength=_LEVELS)


def brightness(counts: Counts) -> float:
    """Return the mean level, from 0 (black) to 1 (white)."""
    return float(counts @ np.arange(_LEVELS) / counts.sum() / (_LEVELS - 1))


def contrast(counts: Counts) -> float:
    """Return the standard deviation of levels, from 0 (uniform) to 0.5 (half black, half white)."""
    levels = np.arange(_LEVELS, dtype=np.float64)
    total = counts.sum()
    mean = counts @ levels / total
    return float(np.sqrt(counts @ (levels - mean) ** 2 / total) / (_LEVELS - 1))


def entropy(counts: Counts) -> float:
    """Return the entropy of levels in bits per pixel, from 0 to 8."""
    shares = counts[counts > 0] / counts.sum()
    return abs(float(shares @ np.log2(shares)))


def uniformity(counts: Counts, width: int) -> float:
    """Return the largest share of pixels whose levels are within `width` consecutive levels."""
    sums = np.concatenate(([0], np.cumsum(counts)))
    windows = sums[width:] - sums[:-width]
    return float(windows.max() / counts.sum())


def colourfulness(pixels: Pixels) -> float:
    """Return Hasler and Süsstrunk's M3: 0 is grey, 15 slightly, 45 moderately, 109 extremely so."""
    if pixels.ndim == 2:
        return 0.0
    red, green, blue = (pixels[..., channel].astype(np.float32) for channel in range(3))
    warm = red - green
    yellow = (red + green) / 2 - blue
    spread = np.hypot(warm.std(dtype=np.float64), yellow.std(dtype=np.float64))
    middle = np.hypot(warm.mean(dtype=np.float64), yellow.mean(dtype=np.float64))
    return float(spread + 0.3 * middle)
