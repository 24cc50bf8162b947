"""Vectors as clips carry them: of length 1, whatever they are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def mean_of(vectors: Sequence[Any]) -> list[float]:
    """The direction in which several vectors point together."""
    return unit(np.mean(np.asarray(vectors, np.float64), axis=0))


def unit(vector: Any) -> list[float]:
    """The same direction at length 1, as exact as single precision is."""
    values = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(values)) or 1.0
    return [float(value) for value in (values / length).astype(np.float32)]
