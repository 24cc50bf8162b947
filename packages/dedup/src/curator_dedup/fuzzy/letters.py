"""Letters: the code that each character is compared by.

Normalization ignores case, accents, punctuation and the values of digits.
"""

import unicodedata
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Codes: TypeAlias = npt.NDArray[np.uint32]

NOTHING, SPACE, DIGIT = 0, 32, 48
"""Codes of characters that are ignored, that separate words, and of any run of digits."""

ALONE = 1 << 31
"""Flag of characters that are words by themselves, in scripts without spaces between words."""

UNKNOWN = 0xFFFFFFFF
"""Code of characters not computed yet: the table is filled page by page, on demand."""

PAGE = 256
POINTS = 0x110000
_RAW = 1 << 21
"""Added to characters that are not normalized, so that none has one of the codes above."""

_NO_SPACES = (
    (0x0E00, 0x0F00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3040, 0x3100), (0x31F0, 0x3200),
    (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x1B000, 0x1B170), (0x20000, 0x32000),
)  # fmt: skip


class Letters:
    """A table of the codes of all characters, filled on demand."""

    def __init__(self, normalize: bool) -> None:
        self._normalize = normalize
        self.table: Codes = np.full(POINTS, UNKNOWN, np.uint32)
        self.fill(0)

    def fill(self, page: int) -> None:
        """Compute the codes of the 256 characters of a page."""
        start = page * PAGE
        code = _normalized if self._normalize else _as_it_is
        self.table[start : start + PAGE] = [code(point) for point in range(start, start + PAGE)]

    def of(self, points: npt.NDArray[Any]) -> Codes:
        codes: Codes = self.table[points]
        unknown = codes == UNKNOWN
        if unknown.any():
            for page in np.unique(points[unknown] // PAGE):
                self.fill(int(page))
            codes = self.table[points]
        return codes


@cache
def letters(normalize: bool) -> Letters:
    return Letters(normalize)


def _as_it_is(point: int) -> int:
    return SPACE if chr(point).isspace() else _RAW + point + _alone(point)


def _normalized(point: int) -> int:
    character = chr(point)
    kind = unicodedata.category(character)
    if character.isspace() or (kind[0] in "PSCZ" and kind != "Cf"):
        return SPACE
    if kind in ("Mn", "Cf"):
        return NOTHING
    if kind == "Nd":
        return DIGIT
    return _without_accents(character.lower()) + _alone(point)


def _without_accents(lower: str) -> int:
    """Return the base letter without accents; keep a letter that decomposes into several."""
    parts = [c for c in unicodedata.normalize("NFKD", lower) if unicodedata.category(c) != "Mn"]
    if len(parts) != 1:
        return ord(lower[0])
    return DIGIT if unicodedata.category(parts[0]) == "Nd" else ord(parts[0])


def _alone(point: int) -> int:
    return ALONE if any(start <= point < end for start, end in _NO_SPACES) else 0
