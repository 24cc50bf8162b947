"""Comparison: the share of bits in which two recordings differ at their best alignment."""

from collections.abc import Iterable
from math import ceil
from typing import TYPE_CHECKING

from curator_audio.fingerprints.prints import differing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.fingerprints.prints import Prints

_SHORT = 4_000
"""Number of frames up to which all alignments are tried: about a minute."""

_SAMPLES = 4_000
"""Number of frames of a longer recording that are looked up in the other."""

_LIKELY = 8
"""Likely alignments to try for longer recordings, with `_AROUND` frames to either side."""

_AROUND = 2


def apart(ones: "Prints", others: "Prints", overlap: float, *, excerpts: bool = False) -> float:
    """Return the smallest share of bits that differ, or 1.0 if the overlap is too short.

    The overlap must cover the share `overlap` of the longer recording; of the shorter one for
    excerpts.
    """
    sizes = len(ones), len(others)
    need = max(1, ceil(overlap * (min(sizes) if excerpts else max(sizes))))
    if min(sizes) < need:
        return 1.0
    low, high = need - len(others), len(ones) - need
    places: Iterable[int] = range(low, high + 1)
    if max(sizes) > _SHORT:
        places = _likely(ones, others, low, high)
    return min((_apart_at(ones, others, place) for place in places), default=1.0)


def _apart_at(ones: "Prints", others: "Prints", place: int) -> float:
    """Compare with the second recording beginning at frame `place` (or before) of the first."""
    start, end = max(0, place), min(len(ones), place + len(others))
    bits = differing(ones[start:end], others[start - place : end - place])
    return float(bits.mean()) / 32


def _likely(ones: "Prints", others: "Prints", low: int, high: int) -> list[int]:
    """Return the alignments at which most prints are equal, and their neighbours."""
    import numpy as np

    order = np.argsort(others, kind="stable")
    ordered = others[order]
    asked = np.linspace(0, len(ones) - 1, min(_SAMPLES, len(ones))).astype(np.int64)
    firsts = np.searchsorted(ordered, ones[asked])
    lasts = np.searchsorted(ordered, ones[asked], side="right")
    single = lasts - firsts == 1  # repeated prints, such as silence, do not locate anything
    found = asked[single] - order[firsts[single]]
    found = found[(found >= low) & (found <= high)]
    return _with_neighbours(found, low, high)


def _with_neighbours(found: "NDArray[np.int64]", low: int, high: int) -> list[int]:
    import numpy as np

    values, counts = np.unique(found, return_counts=True)
    best = values[np.argsort(-counts, kind="stable")[:_LIKELY]].tolist()
    near = {place + step for place in best for step in range(-_AROUND, _AROUND + 1)}
    return sorted(place for place in near if low <= place <= high)
