"""Engines: whether rules are asked in Python or by their compiled forms."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from curator_core.model import compilation as engines

if TYPE_CHECKING:
    import pyarrow as pa

VARIABLE = "CURATOR_TEXT_ENGINE"


def is_compiled() -> bool:
    """Whether compiled forms are to be used; `auto` takes them where numba is installed."""
    return engines.is_compiled(VARIABLE, "python", "curator-text[fast]")


COMPILED = frozenset(
    {
        "BoilerPlateStringFilter",
        "BulletsFilter",
        "C4ParagraphFilter",
        "C4QualityFilter",
        "CommonEnglishWordsFilter",
        "EllipsisFilter",
        "FineWebQualityFilter",
        "GopherQualityFilter",
        "GopherRepetitionFilter",
        "LongWordFilter",
        "MeanWordLengthFilter",
        "NonAlphaNumericFilter",
        "NumbersFilter",
        "ParenthesesFilter",
        "PornographicUrlsFilter",
        "PunctuationFilter",
        "RepeatedLinesByCharFilter",
        "RepeatedLinesFilter",
        "RepeatedParagraphsByCharFilter",
        "RepeatedParagraphsFilter",
        "RepeatingDuplicateNGramsFilter",
        "RepeatingTopNGramsFilter",
        "SymbolsToWordsFilter",
        "TextScore",
        "UrlsFilter",
        "WhiteSpaceFilter",
        "WordCountFilter",
        "WordsWithoutAlphabetsFilter",
    }
)
"""The classes that have a compiled form, told here without importing any of them."""


def compiles(rules: Iterable[object]) -> bool:
    """Whether any of the rules is to be asked by its compiled form."""
    return not COMPILED.isdisjoint(type(rule).__name__ for rule in rules) and is_compiled()


def is_sound(column: "pa.ChunkedArray") -> bool:
    """Whether all of the column is UTF-8, which kernels take for granted."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
