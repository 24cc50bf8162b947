"""Engines: whether rules are asked in Python or by their compiled forms."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from curator_core.errors import CuratorError
from curator_core.suggestions import hint

if TYPE_CHECKING:
    import pyarrow as pa

Engine: TypeAlias = Literal["auto", "python", "compiled"]

VARIABLE = "CURATOR_TEXT_ENGINE"


class EngineError(CuratorError):
    """The engine that was asked for is not there."""


def is_compiled() -> bool:
    """Whether compiled forms are to be used; `auto` takes them where numba is installed."""
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in get_args(Engine):
        known = get_args(Engine)
        raise EngineError(
            f"{VARIABLE} is {asked!r}{hint(asked, known)}; it must be one of {', '.join(known)}"
        )
    if asked == "python":
        return False
    is_there = find_spec("numba") is not None
    if asked == "compiled" and not is_there:
        raise EngineError(
            f"{VARIABLE} is 'compiled', but numba is not installed; "
            "pip install 'curator-text[fast]', or set it to 'auto'"
        )
    return is_there


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
