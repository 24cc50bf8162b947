import pytest
from curator_text import (
    CommonEnglishWordsFilter,
    MeanWordLengthFilter,
    SymbolsToWordsFilter,
    WordCountFilter,
)
from curator_text.document_text import DocumentText


@pytest.mark.parametrize(("words", "passes"), [(49, False), (50, True), (51, True)])
def test_word_count_includes_its_limits(words: int, passes: bool) -> None:
    assert WordCountFilter().passes("word " * words) is passes


def test_word_count_has_an_upper_limit() -> None:
    assert WordCountFilter(1, 3).passes("one\ttwo\u00a0three")
    assert not WordCountFilter(1, 3).passes("one two three four")


def test_mean_word_length_is_a_mean() -> None:
    assert MeanWordLengthFilter().score(DocumentText("a bb cccccc")) == 3.0
    assert MeanWordLengthFilter().passes("a bb cccccc")
    assert not MeanWordLengthFilter().passes("a bb ccccc")
    assert not MeanWordLengthFilter().passes("x" * 11)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("plain words here now", 0.0),
        ("# one two three", 0.25),
        ("one ... two …", 0.5),
        ("[...] -»", 1.0),
        ("### heading #tag ##", 0.0),
        ("#a#", 1.0),
    ],
)
def test_symbols_are_single_hashes_and_ellipses(text: str, score: float) -> None:
    assert SymbolsToWordsFilter().score(DocumentText(text)) == pytest.approx(score)


def test_symbols_limit_is_inclusive() -> None:
    assert SymbolsToWordsFilter().passes("# " + "word " * 9)
    assert not SymbolsToWordsFilter().passes("# " + "word " * 8)


def test_common_words_count_each_time_in_lower_case_only() -> None:
    full = CommonEnglishWordsFilter(stop_at_false=False)
    assert full.score(DocumentText("the cat and the dog")) == 3
    assert CommonEnglishWordsFilter().score(DocumentText("the cat and the dog")) == 2
    assert not CommonEnglishWordsFilter().passes("THE CAT AND THE DOG")
    assert not CommonEnglishWordsFilter().passes("the cat, the.")
    assert CommonEnglishWordsFilter(min_num_common_words=1).passes("the cat")
