"""Priorities: scores of documents as numbers that can be sorted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from curator_core import FilePart, InputError


def priorities_of(part: FilePart, values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Return the priorities as numbers; a missing one is the lowest."""
    scores = [-np.inf if value is None else value for value in values]
    wrong = next((score for score in scores if not isinstance(score, int | float)), None)
    if wrong is not None:
        raise InputError(
            f"{part.path} has a priority that is no number: {str(wrong)[:40]!r}; "
            "name a column of numbers as priority_field"
        )
    numbers = np.array(scores, np.float64)
    numbers[np.isnan(numbers)] = -np.inf
    return numbers
