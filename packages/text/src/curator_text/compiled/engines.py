"""Engines: whether rules run in Python or in their compiled forms."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from curator_core.model import compilation as engines

if TYPE_CHECKING:
    import pyarrow as pa

VARIABLE = "CURATOR_TEXT_ENGINE"


def is_compiled() -> bool:
    """Whether to use compiled forms; with `auto`, if numba is installed."""
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
"""The classes with a compiled form, by name, so that none of them must be imported."""


def compiles(rules: Iterable[object]) -> bool:
    """Whether to use the compiled form of any of the rules."""
    return not COMPILED.isdisjoint(type(rule).__name__ for rule in rules) and is_compiled()


def is_sound(column: "pa.ChunkedArray") -> bool:
    """Whether all of the column is valid UTF-8, which kernels rely on."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
