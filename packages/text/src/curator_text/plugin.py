"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl

_FILTERS = "curator_text.filters"


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "text.jsonl_reader": "curator_text.reading:JsonlReader",
        "text.jsonl_writer": "curator_text.writing:JsonlWriter",
        "text.parquet_reader": "curator_text.reading:ParquetReader",
        "text.parquet_writer": "curator_text.writing:ParquetWriter",
        "text.newline_normalizer": "curator_text.modifying:NewlineNormalizer",
        "text.unicode_normalizer": "curator_text.modifying:UnicodeNormalizer",
        "text.whitespace_normalizer": "curator_text.modifying:WhitespaceNormalizer",
        "text.blocked_domains_filter": f"{_FILTERS}.addresses:BlockedDomainsFilter",
        "text.boiler_plate_string_filter": f"{_FILTERS}.lines:BoilerPlateStringFilter",
        "text.common_english_words_filter": f"{_FILTERS}.words:CommonEnglishWordsFilter",
        "text.mean_word_length_filter": f"{_FILTERS}.words:MeanWordLengthFilter",
        "text.non_alpha_numeric_filter": f"{_FILTERS}.characters:NonAlphaNumericFilter",
        "text.numbers_filter": f"{_FILTERS}.characters:NumbersFilter",
        "text.punctuation_filter": f"{_FILTERS}.lines:PunctuationFilter",
        "text.repeated_lines_filter": f"{_FILTERS}.lines:RepeatedLinesFilter",
        "text.stop_word_language_filter": f"{_FILTERS}.languages:StopWordLanguageFilter",
        "text.symbols_to_words_filter": f"{_FILTERS}.words:SymbolsToWordsFilter",
        "text.urls_filter": f"{_FILTERS}.characters:UrlsFilter",
        "text.word_count_filter": f"{_FILTERS}.words:WordCountFilter",
    }
