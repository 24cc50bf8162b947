"""Unit vectors of clips."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def mean_of(vectors: Sequence[Any]) -> list[float]:
    """Return the unit vector in the direction of the mean of several vectors."""
    return unit(np.mean(np.asarray(vectors, np.float64), axis=0))


def unit(vector: Any) -> list[float]:
    """Scale a vector to length 1, rounded to single precision."""
    values = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(values)) or 1.0
    return [float(value) for value in (values / length).astype(np.float32)]
