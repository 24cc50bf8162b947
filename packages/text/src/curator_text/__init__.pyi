# Generated from the package's list of public names: run `hatch run generate`.
from curator_core import JsonlReader as JsonlReader
from curator_core import JsonlWriter as JsonlWriter
from curator_core import ParquetReader as ParquetReader
from curator_core import ParquetWriter as ParquetWriter
from curator_text.buckets import ScoreBuckets as ScoreBuckets
from curator_text.decontamination.decontaminator import Decontaminator as Decontaminator
from curator_text.document_text import DocumentText as DocumentText
from curator_text.download.downloader import Downloader as Downloader
from curator_text.filters.base import TextFilter as TextFilter
from curator_text.filters.base import WordFilter as WordFilter
from curator_text.filters.c4 import C4BadWordsFilter as C4BadWordsFilter
from curator_text.filters.c4 import C4ParagraphFilter as C4ParagraphFilter
from curator_text.filters.c4 import C4QualityFilter as C4QualityFilter
from curator_text.filters.characters import HistogramFilter as HistogramFilter
from curator_text.filters.characters import NonAlphaNumericFilter as NonAlphaNumericFilter
from curator_text.filters.characters import NumbersFilter as NumbersFilter
from curator_text.filters.characters import ParenthesesFilter as ParenthesesFilter
from curator_text.filters.characters import SubstringFilter as SubstringFilter
from curator_text.filters.characters import WhiteSpaceFilter as WhiteSpaceFilter
from curator_text.filters.code import AlphaFilter as AlphaFilter
from curator_text.filters.code import GeneralCommentToCodeFilter as GeneralCommentToCodeFilter
from curator_text.filters.code import HTMLBoilerplateFilter as HTMLBoilerplateFilter
from curator_text.filters.code import NumberOfLinesOfCodeFilter as NumberOfLinesOfCodeFilter
from curator_text.filters.code import PythonCommentToCodeFilter as PythonCommentToCodeFilter
from curator_text.filters.code import XMLHeaderFilter as XMLHeaderFilter
from curator_text.filters.code_extensions import PerExtensionFilter as PerExtensionFilter
from curator_text.filters.fineweb import FineWebQualityFilter as FineWebQualityFilter
from curator_text.filters.functions import ColumnFilter as ColumnFilter
from curator_text.filters.functions import FunctionFilter as FunctionFilter
from curator_text.filters.gopher import GopherQualityFilter as GopherQualityFilter
from curator_text.filters.gopher import GopherRepetitionFilter as GopherRepetitionFilter
from curator_text.filters.languages import LanguageFilter as LanguageFilter
from curator_text.filters.languages import ScriptFilter as ScriptFilter
from curator_text.filters.languages import StopWordLanguageFilter as StopWordLanguageFilter
from curator_text.filters.lines import BoilerPlateStringFilter as BoilerPlateStringFilter
from curator_text.filters.lines import BulletsFilter as BulletsFilter
from curator_text.filters.lines import EllipsisFilter as EllipsisFilter
from curator_text.filters.lines import PunctuationFilter as PunctuationFilter
from curator_text.filters.perplexity import PerplexityFilter as PerplexityFilter
from curator_text.filters.perplexity import UnigramLogProbFilter as UnigramLogProbFilter
from curator_text.filters.repetition import RepeatedLinesByCharFilter as RepeatedLinesByCharFilter
from curator_text.filters.repetition import RepeatedLinesFilter as RepeatedLinesFilter
from curator_text.filters.repetition import RepeatedParagraphsByCharFilter as RepeatedParagraphsByCharFilter
from curator_text.filters.repetition import RepeatedParagraphsFilter as RepeatedParagraphsFilter
from curator_text.filters.repetition import RepeatingDuplicateNGramsFilter as RepeatingDuplicateNGramsFilter
from curator_text.filters.repetition import RepeatingTopNGramsFilter as RepeatingTopNGramsFilter
from curator_text.filters.scoring import CheapestFirst as CheapestFirst
from curator_text.filters.scoring import Filter as Filter
from curator_text.filters.scoring import Score as Score
from curator_text.filters.scoring import ScoreFilter as ScoreFilter
from curator_text.filters.tokens import TokenCountFilter as TokenCountFilter
from curator_text.filters.tokens import TokenizerFertilityFilter as TokenizerFertilityFilter
from curator_text.filters.url_blocklists import BlockedDomainsFilter as BlockedDomainsFilter
from curator_text.filters.url_blocklists import BlockedUrlsFilter as BlockedUrlsFilter
from curator_text.filters.url_blocklists import UrlWordsFilter as UrlWordsFilter
from curator_text.filters.urls import PornographicUrlsFilter as PornographicUrlsFilter
from curator_text.filters.urls import UrlsFilter as UrlsFilter
from curator_text.filters.words import CommonEnglishWordsFilter as CommonEnglishWordsFilter
from curator_text.filters.words import LongWordFilter as LongWordFilter
from curator_text.filters.words import MeanWordLengthFilter as MeanWordLengthFilter
from curator_text.filters.words import SymbolsToWordsFilter as SymbolsToWordsFilter
from curator_text.filters.words import WordCountFilter as WordCountFilter
from curator_text.filters.words import WordsWithoutAlphabetsFilter as WordsWithoutAlphabetsFilter
from curator_text.html.extractor import HtmlExtractor as HtmlExtractor
from curator_text.language_id.identifiers import LanguageIdentifier as LanguageIdentifier
from curator_text.language_id.identifiers import ScriptIdentifier as ScriptIdentifier
from curator_text.mixing.blend import BlendSource as BlendSource
from curator_text.mixing.blend import BlendWorkflow as BlendWorkflow
from curator_text.mixing.shuffle import ShuffleWorkflow as ShuffleWorkflow
from curator_text.mixing.split import HashSplitter as HashSplitter
from curator_text.models.classifiers import ContentTypeClassifier as ContentTypeClassifier
from curator_text.models.classifiers import DomainClassifier as DomainClassifier
from curator_text.models.classifiers import FineWebEduClassifier as FineWebEduClassifier
from curator_text.models.classifiers import MultilingualDomainClassifier as MultilingualDomainClassifier
from curator_text.models.classifiers import QualityClassifier as QualityClassifier
from curator_text.models.classifiers import SequenceClassifier as SequenceClassifier
from curator_text.models.embedder import TextEmbedder as TextEmbedder
from curator_text.models.fasttext import FastTextQualityFilter as FastTextQualityFilter
from curator_text.models.fasttext import train_quality_model as train_quality_model
from curator_text.models.prompt_complexity import PromptTaskComplexity as PromptTaskComplexity
from curator_text.models.safety import AegisClassifier as AegisClassifier
from curator_text.models.safety import InstructionDataGuard as InstructionDataGuard
from curator_text.modifiers.base import TextModifier as TextModifier
from curator_text.modifiers.base import TextRewriter as TextRewriter
from curator_text.modifiers.c4 import C4LineCleaner as C4LineCleaner
from curator_text.modifiers.functions import Modify as Modify
from curator_text.modifiers.lines import BoilerPlateStringModifier as BoilerPlateStringModifier
from curator_text.modifiers.lines import LineRemover as LineRemover
from curator_text.modifiers.lines import RepeatedLinesRemover as RepeatedLinesRemover
from curator_text.modifiers.lines import RepeatedParagraphsRemover as RepeatedParagraphsRemover
from curator_text.modifiers.lines import Slicer as Slicer
from curator_text.modifiers.markup import FastTextLabelModifier as FastTextLabelModifier
from curator_text.modifiers.markup import MarkdownRemover as MarkdownRemover
from curator_text.modifiers.markup import QuotationRemover as QuotationRemover
from curator_text.modifiers.markup import UrlRemover as UrlRemover
from curator_text.modifiers.unicode import ControlCharacterRemover as ControlCharacterRemover
from curator_text.modifiers.unicode import HtmlEntityDecoder as HtmlEntityDecoder
from curator_text.modifiers.unicode import UnicodeNormalizer as UnicodeNormalizer
from curator_text.modifiers.unicode import UnicodeReformatter as UnicodeReformatter
from curator_text.modifiers.whitespace import NewlineNormalizer as NewlineNormalizer
from curator_text.modifiers.whitespace import WhitespaceNormalizer as WhitespaceNormalizer
from curator_text.pii.redaction import PiiFilter as PiiFilter
from curator_text.pii.redaction import PiiFinder as PiiFinder
from curator_text.pii.redaction import PiiRedactor as PiiRedactor
from curator_text.readers.arxiv import ArxivReader as ArxivReader
from curator_text.readers.common_crawl import CommonCrawlReader as CommonCrawlReader
from curator_text.readers.csv import CsvReader as CsvReader
from curator_text.readers.csv import TsvReader as TsvReader
from curator_text.readers.plain import TextReader as TextReader
from curator_text.readers.warc import WarcReader as WarcReader
from curator_text.readers.warc import WetReader as WetReader
from curator_text.readers.wikipedia import WikipediaReader as WikipediaReader
from curator_text.routing import RouteByColumn as RouteByColumn
from curator_text.segments import DocumentJoiner as DocumentJoiner
from curator_text.segments import DocumentSplitter as DocumentSplitter
from curator_text.statistics import DocumentStatistics as DocumentStatistics

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
    "DocumentText",
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
