"""Limits that would drop everything, or nothing, are refused before anything runs."""

import pytest
from curator_text import (
    FineWebQualityFilter,
    GeneralCommentToCodeFilter,
    GopherQualityFilter,
    MeanWordLengthFilter,
    NonAlphaNumericFilter,
    StopWordLanguageFilter,
    TextFilter,
    TokenCountFilter,
    WordCountFilter,
)
from curator_text.filters.tokens import TokenizerFertilityFilter


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (WordCountFilter(10, 5), "min_words is 10, but max_words is 5: no number is in between"),
        (
            MeanWordLengthFilter(max_mean_word_length=2.5),
            "min_mean_word_length is 3, but max_mean_word_length is 2.5: no number is in between",
        ),
        (
            GopherQualityFilter(min_doc_words=9, max_doc_words=8),
            "min_doc_words is 9, but max_doc_words is 8: no number is in between",
        ),
        (
            NonAlphaNumericFilter(25),
            "max_non_alpha_numeric_to_text_ratio is 25, but a share is at most 1 (25 % are 0.25)",
        ),
        (
            StopWordLanguageFilter(min_stop_words_ratio=10),
            "min_stop_words_ratio is 10, but a share is at most 1 (10 % are 0.1)",
        ),
    ],
)
def test_unreasonable_limits_are_refused(rule: TextFilter, problem: str) -> None:
    assert list(rule.check()) == [problem]


@pytest.mark.parametrize(
    "rule",
    [
        WordCountFilter(5, 5),
        GopherQualityFilter(min_doc_words=9, max_doc_words=None),
        NonAlphaNumericFilter(1),
        FineWebQualityFilter(new_line_ratio=3.0),
        TokenCountFilter(str.split, min_tokens=5),
        TokenizerFertilityFilter(str.split, min_char_to_token_ratio=2.5),
    ],
    ids=lambda rule: rule.name,
)
def test_reasonable_limits_are_accepted(rule: TextFilter) -> None:
    assert list(rule.check()) == []


@pytest.mark.parametrize(
    "stage",
    [
        WordCountFilter("50"),  # type: ignore[arg-type]
        WordCountFilter(True),
        WordCountFilter(None),  # type: ignore[arg-type]
        GeneralCommentToCodeFilter("text/x-c", "text/x-c++"),  # type: ignore[arg-type]
        TokenCountFilter(str.split, max_tokens="9"),  # type: ignore[arg-type]
    ],
)
def test_limit_that_is_not_a_number_is_a_problem_of_the_plan(stage: TextFilter) -> None:
    [problem] = stage.check()
    assert "must be a number" in problem


def test_limit_may_be_missing_or_any_number_type() -> None:
    assert list(TokenCountFilter(str.split, max_tokens=None).check()) == []
    assert list(WordCountFilter(max_words=1e5).check()) == []  # type: ignore[arg-type]
