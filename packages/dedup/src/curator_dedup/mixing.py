"""Mixing: numbers as random ones, the same for the same number."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]

MIX_A, MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: Words) -> Words:
    """Each bit of a number changes about half of those that come out; no two become one."""
    values = values ^ (values >> np.uint64(30))
    values *= MIX_A
    values ^= values >> np.uint64(27)
    values *= MIX_B
    values ^= values >> np.uint64(31)
    return values
