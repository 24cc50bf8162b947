"""Stages for documents: filters that drop some of them, modifiers that rewrite their text."""

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

__all__ = [
    "BlockedDomainsFilter",
    "BoilerPlateStringFilter",
    "CommonEnglishWordsFilter",
    "MeanWordLengthFilter",
    "NewlineNormalizer",
    "NonAlphaNumericFilter",
    "NumbersFilter",
    "PunctuationFilter",
    "RepeatedLinesFilter",
    "StopWordLanguageFilter",
    "SymbolsToWordsFilter",
    "TextFilter",
    "TextModifier",
    "UnicodeNormalizer",
    "UrlsFilter",
    "WhitespaceNormalizer",
    "WordCountFilter",
]
