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
    from curator_text.segments.joining import DocumentJoiner
    from curator_text.modifiers.characters import (
        ControlCharacterRemover,
        HtmlEntityDecoder,
        UnicodeNormalizer,
        UnicodeReformatter,
    )
    from curator_text.modifiers.functions import Modify
    from curator_text.modifiers.labels import FastTextLabelModifier
    from curator_text.modifiers.lines import (
        BoilerPlateStringModifier,
        LineRemover,
        RepeatedLinesRemover,
        RepeatedParagraphsRemover,
    )
    from curator_text.modifiers.markup import MarkdownRemover, QuotationRemover, UrlRemover
    from curator_text.modifiers.slices import Slicer
    from curator_text.modifiers.spaces import NewlineNormalizer, WhitespaceNormalizer
    from curator_text.modifying import TextModifier, TextRewriter
    from curator_text.reading import JsonlReader, ParquetReader
    from curator_text.segments.splitting import DocumentSplitter
    from curator_text.texts import Text
    from curator_text.writing import JsonlWriter, ParquetWriter

__all__ = [
    "BlockedDomainsFilter",
    "BoilerPlateStringFilter",
    "BoilerPlateStringModifier",
    "CommonEnglishWordsFilter",
    "ControlCharacterRemover",
    "DocumentJoiner",
    "DocumentSplitter",
    "FastTextLabelModifier",
    "HtmlEntityDecoder",
    "JsonlReader",
    "JsonlWriter",
    "LineRemover",
    "MarkdownRemover",
    "MeanWordLengthFilter",
    "Modify",
    "NewlineNormalizer",
    "NonAlphaNumericFilter",
    "NumbersFilter",
    "ParquetReader",
    "ParquetWriter",
    "PunctuationFilter",
    "QuotationRemover",
    "RepeatedLinesFilter",
    "RepeatedLinesRemover",
    "RepeatedParagraphsRemover",
    "Slicer",
    "StopWordLanguageFilter",
    "SymbolsToWordsFilter",
    "Text",
    "TextFilter",
    "TextModifier",
    "TextRewriter",
    "UnicodeNormalizer",
    "UnicodeReformatter",
    "UrlRemover",
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
    "segments.joining": ("DocumentJoiner",),
    "segments.splitting": ("DocumentSplitter",),
    "modifying": ("TextModifier", "TextRewriter"),
    "modifiers.characters": (
        "ControlCharacterRemover",
        "HtmlEntityDecoder",
        "UnicodeNormalizer",
        "UnicodeReformatter",
    ),
    "modifiers.functions": ("Modify",),
    "modifiers.labels": ("FastTextLabelModifier",),
    "modifiers.lines": (
        "BoilerPlateStringModifier",
        "LineRemover",
        "RepeatedLinesRemover",
        "RepeatedParagraphsRemover",
    ),
    "modifiers.markup": ("MarkdownRemover", "QuotationRemover", "UrlRemover"),
    "modifiers.slices": ("Slicer",),
    "modifiers.spaces": ("NewlineNormalizer", "WhitespaceNormalizer"),
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
