"""Stages for documents: readers, filters that drop some, modifiers of their text, writers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_text.filtering import TextFilter
    from curator_text.filters.addresses import BlockedDomainsFilter
    from curator_text.filters.characters import NonAlphaNumericFilter, NumbersFilter, UrlsFilter
    from curator_text.filters.languages import StopWordLanguageFilter
    from curator_text.filters.lines import (
        BoilerPlateStringFilter,
        PunctuationFilter,
        RepeatedLinesFilter,
    )
    from curator_text.filters.words import (
        CommonEnglishWordsFilter,
        MeanWordLengthFilter,
        SymbolsToWordsFilter,
        WordCountFilter,
    )
    from curator_text.modifying import (
        NewlineNormalizer,
        TextModifier,
        UnicodeNormalizer,
        WhitespaceNormalizer,
    )
    from curator_text.reading import JsonlReader, ParquetReader
    from curator_text.texts import Text
    from curator_text.writing import JsonlWriter, ParquetWriter

__all__ = [
    "BlockedDomainsFilter",
    "BoilerPlateStringFilter",
    "CommonEnglishWordsFilter",
    "JsonlReader",
    "JsonlWriter",
    "MeanWordLengthFilter",
    "NewlineNormalizer",
    "NonAlphaNumericFilter",
    "NumbersFilter",
    "ParquetReader",
    "ParquetWriter",
    "PunctuationFilter",
    "RepeatedLinesFilter",
    "StopWordLanguageFilter",
    "SymbolsToWordsFilter",
    "Text",
    "TextFilter",
    "TextModifier",
    "UnicodeNormalizer",
    "UrlsFilter",
    "WhitespaceNormalizer",
    "WordCountFilter",
]

_HOMES = {
    "filters.addresses": ("BlockedDomainsFilter",),
    "filters.lines": ("BoilerPlateStringFilter", "PunctuationFilter", "RepeatedLinesFilter"),
    "filters.words": (
        "CommonEnglishWordsFilter",
        "MeanWordLengthFilter",
        "SymbolsToWordsFilter",
        "WordCountFilter",
    ),
    "reading": ("JsonlReader", "ParquetReader"),
    "writing": ("JsonlWriter", "ParquetWriter"),
    "modifying": ("NewlineNormalizer", "TextModifier", "UnicodeNormalizer", "WhitespaceNormalizer"),
    "filters.characters": ("NonAlphaNumericFilter", "NumbersFilter", "UrlsFilter"),
    "filters.languages": ("StopWordLanguageFilter",),
    "filtering": ("TextFilter",),
    "texts": ("Text",),
}


def __getattr__(name: str) -> Any:
    """Stages are imported when they are asked for: naming them all wakes no library."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"curator_text.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
