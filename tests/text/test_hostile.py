"""Hostile texts: every rule has an outcome within a bounded time."""

import time

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, LocalExecutor, Pipeline
from curator_core.testing import check_stage
from curator_text import (
    BoilerPlateStringFilter,
    BulletsFilter,
    CommonEnglishWordsFilter,
    DocumentText,
    EllipsisFilter,
    FunctionFilter,
    LongWordFilter,
    MeanWordLengthFilter,
    NonAlphaNumericFilter,
    NumbersFilter,
    ParenthesesFilter,
    PornographicUrlsFilter,
    PunctuationFilter,
    RepeatedLinesByCharFilter,
    RepeatedLinesFilter,
    RepeatedParagraphsByCharFilter,
    RepeatedParagraphsFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
    ScoreFilter,
    SubstringFilter,
    SymbolsToWordsFilter,
    TextFilter,
    TokenCountFilter,
    UnigramLogProbFilter,
    UrlsFilter,
    WhiteSpaceFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
)

RULES: list[TextFilter] = [
    BoilerPlateStringFilter(),
    BulletsFilter(),
    CommonEnglishWordsFilter(),
    EllipsisFilter(),
    FunctionFilter(len),
    LongWordFilter(),
    MeanWordLengthFilter(),
    NonAlphaNumericFilter(),
    NumbersFilter(),
    ParenthesesFilter(),
    PornographicUrlsFilter(),
    PunctuationFilter(),
    RepeatedLinesByCharFilter(),
    RepeatedLinesFilter(),
    RepeatedParagraphsByCharFilter(),
    RepeatedParagraphsFilter(),
    RepeatingDuplicateNGramsFilter(5),
    RepeatingTopNGramsFilter(),
    SubstringFilter("\ud800", "any"),
    SymbolsToWordsFilter(),
    TokenCountFilter(str.split),
    UnigramLogProbFilter({"the": 3, "boat": 1}),
    UrlsFilter(),
    WhiteSpaceFilter(),
    WordCountFilter(),
    WordCountFilter(words="cjk-aware"),
    WordCountFilter(words="punctuation"),
    WordsWithoutAlphabetsFilter(),
]
PROSE = "The boat was late, and nobody on the quay knew when it would have to leave again.\n" * 2
MANY = 100_000
HOSTILE = {
    "NUL": "\x00" * MANY,
    "lone surrogates": "a \ud800\udfff " * MANY,
    "combining marks": "e" + "\u0301" * 10 * MANY,
    "vowel signs": "\u0e01" + "\u0e34" * MANY,
    "right to left": "\u05e9\u05dc\u05d5\u05dd " * MANY,
    "no spaces": "\u597d" * MANY,
    "hashes": "# " * MANY,
    "dots": "." * MANY,
    "URL heads": "http://" * MANY,
    "half escapes": "http://" + "%2" * MANY,
    "brackets": "([" * MANY,
    "joined by marks": "a-" * MANY,
    "one line": "abcdefghi " * MANY,
    "lines": "a\n" * MANY,
    "paragraphs": "a\n\n" * MANY,
    "emoji": "\U0001f468\u200d\U0001f469 " * MANY,
}
SECONDS = 10.0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_scores_quickly(rule: TextFilter) -> None:
    for kind, text in HOSTILE.items():
        started = time.process_time()
        score = rule.score(DocumentText(text))
        taken = time.process_time() - started
        assert score == score, f"{kind}: not a number"
        assert rule.keeps(score) in (True, False)
        assert taken < SECONDS, f"{kind} took {taken:.1f} s"


def test_every_rule_scores_a_line_of_100_mb() -> None:
    text = "ab" * 50_000_000
    rules: list[TextFilter] = [LongWordFilter(10**9), MeanWordLengthFilter(1, 10**9)]
    rules += [
        WordCountFilter(1),
        NumbersFilter(),
        UrlsFilter(),
        WhiteSpaceFilter(),
        ParenthesesFilter(),
    ]
    stages = [*rules, RepeatedLinesFilter(), RepeatingDuplicateNGramsFilter(1), BulletsFilter()]
    started = time.process_time()
    batch = DocumentBatch(pa.table({"text": [text, "a"]}))
    result = Pipeline("long", stages=stages).run(LocalExecutor(0), tasks=[batch])
    assert [task.num_items for task in result.tasks] == [2]
    assert time.process_time() - started < 3 * SECONDS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("invert", [False, True])
def test_empty_text_passes_no_rule_even_inverted(rule: TextFilter, invert: bool) -> None:
    stage = ScoreFilter(rule, score_field="score", invert=invert)
    rows = [{"text": text} for text in (None, "", " \n\n\t", "\u3000\u2028\x1c")]
    kept, dropped = stage.process(DocumentBatch.from_pylist(rows))
    assert isinstance(kept, DocumentBatch)
    assert isinstance(dropped, Dropped)
    assert (kept.num_items, dropped.items) == (0, 4)
    assert kept.columns() == ("text", "score")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_fulfills_the_stage_contract(rule: TextFilter) -> None:
    check_stage(rule, DocumentBatch.from_pylist([{"text": PROSE}, {"text": "#"}, {"text": None}]))
