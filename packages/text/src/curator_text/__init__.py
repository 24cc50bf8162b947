"""Stages for documents: readers, filters that drop some, modifiers of their text, writers."""

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
    "TextFilter",
    "TextModifier",
    "UnicodeNormalizer",
    "UrlsFilter",
    "WhitespaceNormalizer",
    "WordCountFilter",
]
