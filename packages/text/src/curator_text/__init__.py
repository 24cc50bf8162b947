"""Stages for documents: readers, filters that drop some, modifiers of their text, writers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_text.contamination.removing import Decontaminator
    from curator_text.downloading.stages import Downloader
    from curator_text.filtering import TextFilter, WordFilter
    from curator_text.filters.addresses import (
        BlockedDomainsFilter,
        BlockedUrlsFilter,
        UrlWordsFilter,
    )
    from curator_text.filters.characters import (
        NonAlphaNumericFilter,
        NumbersFilter,
        ParenthesesFilter,
        WhiteSpaceFilter,
    )
    from curator_text.filters.code import (
        AlphaFilter,
        GeneralCommentToCodeFilter,
        HTMLBoilerplateFilter,
        NumberOfLinesOfCodeFilter,
        PythonCommentToCodeFilter,
        XMLHeaderFilter,
    )
    from curator_text.filters.code_extensions import PerExtensionFilter
    from curator_text.filters.code_tokens import TokenizerFertilityFilter
    from curator_text.filters.functions import ColumnFilter, FunctionFilter
    from curator_text.filters.histograms import HistogramFilter
    from curator_text.filters.languages import LanguageFilter, StopWordLanguageFilter
    from curator_text.filters.likelihoods import PerplexityFilter, UnigramLogProbFilter
    from curator_text.filters.lines import (
        BoilerPlateStringFilter,
        BulletsFilter,
        EllipsisFilter,
        PunctuationFilter,
    )
    from curator_text.filters.ngrams import RepeatingDuplicateNGramsFilter, RepeatingTopNGramsFilter
    from curator_text.filters.repetition import (
        RepeatedLinesByCharFilter,
        RepeatedLinesFilter,
        RepeatedParagraphsByCharFilter,
        RepeatedParagraphsFilter,
    )
    from curator_text.filters.scripts import ScriptFilter
    from curator_text.filters.substrings import SubstringFilter
    from curator_text.filters.tokens import TokenCountFilter
    from curator_text.filters.urls import PornographicUrlsFilter, UrlsFilter
    from curator_text.filters.words import (
        CommonEnglishWordsFilter,
        LongWordFilter,
        MeanWordLengthFilter,
        SymbolsToWordsFilter,
        WordCountFilter,
        WordsWithoutAlphabetsFilter,
    )
    from curator_text.html.extracting import HtmlExtractor
    from curator_text.languages.identifying import LanguageIdentifier, ScriptIdentifier
    from curator_text.mixing.blending import BlendSource, BlendWorkflow
    from curator_text.mixing.shuffling import ShuffleWorkflow
    from curator_text.mixing.splitting import HashSplitter
    from curator_text.models.buckets import ScoreBuckets
    from curator_text.models.classifiers import (
        ContentTypeClassifier,
        DomainClassifier,
        MultilingualDomainClassifier,
        QualityClassifier,
        SequenceClassifier,
    )
    from curator_text.models.complexity import PromptTaskComplexity
    from curator_text.models.education import FineWebEduClassifier
    from curator_text.models.embedding import TextEmbedder
    from curator_text.models.fasttext_filters import FastTextQualityFilter
    from curator_text.models.fasttext_models import train_quality_model
    from curator_text.models.guarding import InstructionDataGuard
    from curator_text.models.routing import RouteByColumn
    from curator_text.models.safety import AegisClassifier
    from curator_text.modifiers.c4_lines import C4LineCleaner
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
    from curator_text.ordering import CheapestFirst
    from curator_text.pii.stages import PiiFilter, PiiFinder, PiiRedactor
    from curator_text.reading import JsonlReader, ParquetReader
    from curator_text.scoring import Filter, Score, ScoreFilter
    from curator_text.segments.joining import DocumentJoiner
    from curator_text.segments.splitting import DocumentSplitter
    from curator_text.sets.c4_bad_words import C4BadWordsFilter
    from curator_text.sets.c4_paragraphs import C4ParagraphFilter
    from curator_text.sets.c4_quality import C4QualityFilter
    from curator_text.sets.fineweb import FineWebQualityFilter
    from curator_text.sets.gopher_quality import GopherQualityFilter
    from curator_text.sets.gopher_repetition import GopherRepetitionFilter
    from curator_text.sources.arxiv import ArxivReader
    from curator_text.sources.common_crawl import CommonCrawlReader
    from curator_text.sources.plain import TextReader
    from curator_text.sources.separated import CsvReader, TsvReader
    from curator_text.sources.warc import WarcReader, WetReader
    from curator_text.sources.wikipedia import WikipediaReader
    from curator_text.statistics.collecting import DocumentStatistics
    from curator_text.texts import Text
    from curator_text.writing import JsonlWriter, ParquetWriter

__all__ = [
    "AegisClassifier",
    "AlphaFilter",
    "ArxivReader",
    "BlendSource",
    "BlendWorkflow",
    "BlockedDomainsFilter",
    "BlockedUrlsFilter",
    "BoilerPlateStringFilter",
    "BoilerPlateStringModifier",
    "BulletsFilter",
    "C4BadWordsFilter",
    "C4LineCleaner",
    "C4ParagraphFilter",
    "C4QualityFilter",
    "CheapestFirst",
    "ColumnFilter",
    "CommonCrawlReader",
    "CommonEnglishWordsFilter",
    "ContentTypeClassifier",
    "ControlCharacterRemover",
    "CsvReader",
    "Decontaminator",
    "DocumentJoiner",
    "DocumentSplitter",
    "DocumentStatistics",
    "DomainClassifier",
    "Downloader",
    "EllipsisFilter",
    "FastTextLabelModifier",
    "FastTextQualityFilter",
    "Filter",
    "FineWebEduClassifier",
    "FineWebQualityFilter",
    "FunctionFilter",
    "GeneralCommentToCodeFilter",
    "GopherQualityFilter",
    "GopherRepetitionFilter",
    "HTMLBoilerplateFilter",
    "HashSplitter",
    "HistogramFilter",
    "HtmlEntityDecoder",
    "HtmlExtractor",
    "InstructionDataGuard",
    "JsonlReader",
    "JsonlWriter",
    "LanguageFilter",
    "LanguageIdentifier",
    "LineRemover",
    "LongWordFilter",
    "MarkdownRemover",
    "MeanWordLengthFilter",
    "Modify",
    "MultilingualDomainClassifier",
    "NewlineNormalizer",
    "NonAlphaNumericFilter",
    "NumberOfLinesOfCodeFilter",
    "NumbersFilter",
    "ParenthesesFilter",
    "ParquetReader",
    "ParquetWriter",
    "PerExtensionFilter",
    "PerplexityFilter",
    "PiiFilter",
    "PiiFinder",
    "PiiRedactor",
    "PornographicUrlsFilter",
    "PromptTaskComplexity",
    "PunctuationFilter",
    "PythonCommentToCodeFilter",
    "QualityClassifier",
    "QuotationRemover",
    "RepeatedLinesByCharFilter",
    "RepeatedLinesFilter",
    "RepeatedLinesRemover",
    "RepeatedParagraphsByCharFilter",
    "RepeatedParagraphsFilter",
    "RepeatedParagraphsRemover",
    "RepeatingDuplicateNGramsFilter",
    "RepeatingTopNGramsFilter",
    "RouteByColumn",
    "Score",
    "ScoreBuckets",
    "ScoreFilter",
    "ScriptFilter",
    "ScriptIdentifier",
    "SequenceClassifier",
    "ShuffleWorkflow",
    "Slicer",
    "StopWordLanguageFilter",
    "SubstringFilter",
    "SymbolsToWordsFilter",
    "Text",
    "TextEmbedder",
    "TextFilter",
    "TextModifier",
    "TextReader",
    "TextRewriter",
    "TokenCountFilter",
    "TokenizerFertilityFilter",
    "TsvReader",
    "UnicodeNormalizer",
    "UnicodeReformatter",
    "UnigramLogProbFilter",
    "UrlRemover",
    "UrlWordsFilter",
    "UrlsFilter",
    "WarcReader",
    "WetReader",
    "WhiteSpaceFilter",
    "WhitespaceNormalizer",
    "WikipediaReader",
    "WordCountFilter",
    "WordFilter",
    "WordsWithoutAlphabetsFilter",
    "XMLHeaderFilter",
    "train_quality_model",
]

_HOMES = {
    "models.buckets": ("ScoreBuckets",),
    "models.routing": ("RouteByColumn",),
    "models.fasttext_filters": ("FastTextQualityFilter",),
    "models.fasttext_models": ("train_quality_model",),
    "models.classifiers": (
        "ContentTypeClassifier",
        "DomainClassifier",
        "MultilingualDomainClassifier",
        "QualityClassifier",
        "SequenceClassifier",
    ),
    "models.complexity": ("PromptTaskComplexity",),
    "models.education": ("FineWebEduClassifier",),
    "models.embedding": ("TextEmbedder",),
    "models.guarding": ("InstructionDataGuard",),
    "models.safety": ("AegisClassifier",),
    "filters.code_tokens": ("TokenizerFertilityFilter",),
    "filters.code_extensions": ("PerExtensionFilter",),
    "filters.code": (
        "AlphaFilter",
        "GeneralCommentToCodeFilter",
        "HTMLBoilerplateFilter",
        "NumberOfLinesOfCodeFilter",
        "PythonCommentToCodeFilter",
        "XMLHeaderFilter",
    ),
    "pii.stages": (
        "PiiFilter",
        "PiiFinder",
        "PiiRedactor",
    ),
    "filters.functions": (
        "ColumnFilter",
        "FunctionFilter",
    ),
    "filters.histograms": ("HistogramFilter",),
    "filters.likelihoods": (
        "PerplexityFilter",
        "UnigramLogProbFilter",
    ),
    "filters.tokens": ("TokenCountFilter",),
    "ordering": ("CheapestFirst",),
    "scoring": (
        "Filter",
        "Score",
        "ScoreFilter",
    ),
    "sets.c4_bad_words": ("C4BadWordsFilter",),
    "sets.c4_paragraphs": ("C4ParagraphFilter",),
    "sets.c4_quality": ("C4QualityFilter",),
    "sets.fineweb": ("FineWebQualityFilter",),
    "sets.gopher_quality": ("GopherQualityFilter",),
    "sets.gopher_repetition": ("GopherRepetitionFilter",),
    "filters.scripts": ("ScriptFilter",),
    "languages.identifying": (
        "LanguageIdentifier",
        "ScriptIdentifier",
    ),
    "filters.characters": (
        "NonAlphaNumericFilter",
        "NumbersFilter",
        "ParenthesesFilter",
        "WhiteSpaceFilter",
    ),
    "filters.lines": (
        "BoilerPlateStringFilter",
        "BulletsFilter",
        "EllipsisFilter",
        "PunctuationFilter",
    ),
    "filters.ngrams": (
        "RepeatingDuplicateNGramsFilter",
        "RepeatingTopNGramsFilter",
    ),
    "filters.repetition": (
        "RepeatedLinesByCharFilter",
        "RepeatedLinesFilter",
        "RepeatedParagraphsByCharFilter",
        "RepeatedParagraphsFilter",
    ),
    "filters.substrings": ("SubstringFilter",),
    "filters.urls": (
        "PornographicUrlsFilter",
        "UrlsFilter",
    ),
    "filters.words": (
        "CommonEnglishWordsFilter",
        "LongWordFilter",
        "MeanWordLengthFilter",
        "SymbolsToWordsFilter",
        "WordCountFilter",
        "WordsWithoutAlphabetsFilter",
    ),
    "filters.addresses": (
        "BlockedDomainsFilter",
        "BlockedUrlsFilter",
        "UrlWordsFilter",
    ),
    "reading": ("JsonlReader", "ParquetReader"),
    "html.extracting": ("HtmlExtractor",),
    "sources.arxiv": ("ArxivReader",),
    "downloading.stages": ("Downloader",),
    "sources.common_crawl": ("CommonCrawlReader",),
    "sources.plain": ("TextReader",),
    "sources.separated": ("CsvReader", "TsvReader"),
    "sources.wikipedia": ("WikipediaReader",),
    "sources.warc": ("WarcReader", "WetReader"),
    "writing": ("JsonlWriter", "ParquetWriter"),
    "segments.joining": ("DocumentJoiner",),
    "segments.splitting": ("DocumentSplitter",),
    "modifying": ("TextModifier", "TextRewriter"),
    "contamination.removing": ("Decontaminator",),
    "statistics.collecting": ("DocumentStatistics",),
    "mixing.blending": ("BlendSource", "BlendWorkflow"),
    "mixing.shuffling": ("ShuffleWorkflow",),
    "mixing.splitting": ("HashSplitter",),
    "modifiers.c4_lines": ("C4LineCleaner",),
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
    "filters.languages": (
        "LanguageFilter",
        "StopWordLanguageFilter",
    ),
    "filtering": ("TextFilter", "WordFilter"),
    "texts": ("Text",),
}


def __getattr__(name: str) -> Any:
    """Import a stage when it is first used, so that importing the package stays cheap."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"curator_text.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted(__all__)
