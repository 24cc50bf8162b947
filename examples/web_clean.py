"""What web_clean.yaml does, written in Python: `python examples/web_clean.py RAW_FILES FOLDER`."""

import sys

from curator_core import AnyStage, Pipeline
from curator_text import (
    BlockedDomainsFilter,
    BoilerPlateStringFilter,
    CommonEnglishWordsFilter,
    JsonlReader,
    JsonlWriter,
    MeanWordLengthFilter,
    NewlineNormalizer,
    NonAlphaNumericFilter,
    NumbersFilter,
    PunctuationFilter,
    RepeatedLinesFilter,
    StopWordLanguageFilter,
    SymbolsToWordsFilter,
    UnicodeNormalizer,
    UrlsFilter,
    WhitespaceNormalizer,
    WordCountFilter,
)


def steps() -> list[AnyStage]:
    return [
        UnicodeNormalizer(),
        NewlineNormalizer(),
        WhitespaceNormalizer(),
        BlockedDomainsFilter(["casino-gold.example", "adult-videos.example"]),
        StopWordLanguageFilter("en"),
        WordCountFilter(min_words=50, max_words=100000),
        RepeatedLinesFilter(),
        BoilerPlateStringFilter(),
        PunctuationFilter(),
        UrlsFilter(),
        NumbersFilter(),
        SymbolsToWordsFilter(),
        NonAlphaNumericFilter(),
        MeanWordLengthFilter(),
        CommonEnglishWordsFilter(),
    ]


def web_clean(raw: str, folder: str) -> Pipeline:
    return Pipeline(
        "web_clean",
        "Raw web pages in, English prose out.",
        [
            JsonlReader(raw),
            *steps(),
            JsonlWriter(f"{folder}/kept", dropped_path=f"{folder}/dropped"),
        ],
        max_failures=100,
    )


if __name__ == "__main__":
    result = web_clean(*sys.argv[1:]).run()
    for name, counts in result.stages.items():
        print(f"{name:32} {counts.items_in:>8,} in {counts.items_dropped:>8,} dropped")
