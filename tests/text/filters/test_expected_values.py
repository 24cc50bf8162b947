"""Scores computed by hand. benchmarks/nemo_agreement.py compares them on thousands of texts."""

import pytest
from curator_text import (
    BoilerPlateStringFilter,
    BulletsFilter,
    CommonEnglishWordsFilter,
    DocumentText,
    EllipsisFilter,
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
    SubstringFilter,
    SymbolsToWordsFilter,
    TextFilter,
    UrlsFilter,
    WhiteSpaceFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
)

EXPECTED: list[tuple[TextFilter, str, float]] = [
    (NonAlphaNumericFilter(), "ab c-", 2 / 5),
    (NumbersFilter(), "a1b22", 3 / 5),
    (WhiteSpaceFilter(), "a b\t\n\r\b\u00a0c", 5 / 9),
    (ParenthesesFilter(), "(a)[b]{c}\u27e8d\u27e9<e>", 8 / 15),
    (UrlsFilter(), "see http://a.b/c now", 12 / 20),
    (UrlsFilter(url_regex=r"(ftp|http)://\S+"), "see ftp://a.b now", 9 / 17),
    (PornographicUrlsFilter(), "at http://porn.example/", 1.0),
    (PornographicUrlsFilter(), "porn at http://a.example/", 0.0),
    (WordCountFilter(), " a  b\nc ", 3),
    (MeanWordLengthFilter(), "a bb ccc", 2.0),
    (LongWordFilter(), "a bbbb cc", 4),
    (SymbolsToWordsFilter(), "# a ... ### b", 2 / 5),
    (SymbolsToWordsFilter(), "a ... [\u2026] b", 2 / 4),
    (WordsWithoutAlphabetsFilter(), "a1 22 -- \u00e9! \u2167 \u24b6 \u00bd", 4 / 7),
    (CommonEnglishWordsFilter(), "the cat and the dog", 2),
    (CommonEnglishWordsFilter(stop_at_false=False), "the cat and the dog", 3),
    (BulletsFilter(), "\u2022 a\n  \u25e6 b\n- c\n\nd", 2 / 4),
    (PunctuationFilter(), 'a.\nb\n"c"\nd  \n\n', 2 / 4),
    (EllipsisFilter(), "a...\nb\n Read More \nc\u2026\n", 3 / 4),
    (EllipsisFilter(), "read more here\nb", 0.0),
    (BoilerPlateStringFilter(), "a\n\nPrivacy Policy\n\nb\n\nc", 1 / 4),
    (BoilerPlateStringFilter(), "a\n\nLorem Ipsum", 1.0),
    (RepeatedLinesFilter(), "a\n\na\nb", 2 / 3),
    (RepeatedLinesByCharFilter(), "aaa\n\naaa\nb", 4 / 7),
    (RepeatedParagraphsFilter(), "a\n\na\n\nb", 2 / 3),
    (RepeatedParagraphsByCharFilter(), "aaa\n\naaa\n\nb", 4 / 7),
    (RepeatingTopNGramsFilter(2), "a b x a b y", 6 / 11),  # "a b" twice
    (RepeatingTopNGramsFilter(2), "a b\nc d", 3 / 7),  # none repeats: the first one, "a b"
    (RepeatingTopNGramsFilter(3), "a b", 1.0),  # too short for any
    (RepeatingTopNGramsFilter(2), "a b x y x y a b", 6 / 15),  # as common, but first
    (RepeatingDuplicateNGramsFilter(2), "a b c a b c", 5 / 11),  # "a b", then " c"
    (RepeatingDuplicateNGramsFilter(3), "aa b c d aa b c e", 6 / 17),
    (RepeatingDuplicateNGramsFilter(5), "a b c d e f", 0.0),
    (RepeatingDuplicateNGramsFilter(5), "a b", 1.0),
    (SubstringFilter("ab", "prefix"), "abc", 1.0),
    (SubstringFilter("ab", "suffix"), "abc", 0.0),
    (SubstringFilter("bc", "any"), "abcd", 1.0),
]


@pytest.mark.parametrize(("rule", "text", "score"), EXPECTED)
def test_scores_computed_by_hand(rule: TextFilter, text: str, score: float) -> None:
    assert rule.score(DocumentText(text)) == pytest.approx(score)


LIMITS: list[tuple[TextFilter, float, float]] = [
    (NonAlphaNumericFilter(), 0.25, 0.26),
    (NumbersFilter(), 0.15, 0.16),
    (UrlsFilter(), 0.2, 0.21),
    (WhiteSpaceFilter(), 0.25, 0.26),
    (ParenthesesFilter(), 0.1, 0.11),
    (SymbolsToWordsFilter(), 0.1, 0.11),
    (WordCountFilter(), 50, 49),
    (WordCountFilter(), 100000, 100001),
    (MeanWordLengthFilter(), 3, 2.9),
    (MeanWordLengthFilter(), 10, 10.1),
    (LongWordFilter(), 1000, 1001),
    (WordsWithoutAlphabetsFilter(), 0.8, 0.79),
    (CommonEnglishWordsFilter(), 2, 1),
    (BulletsFilter(), 0.9, 0.91),
    (PunctuationFilter(), 0.85, 0.86),
    (EllipsisFilter(), 0.3, 0.31),
    (BoilerPlateStringFilter(), 0.4, 0.41),
    (PornographicUrlsFilter(), 0, 1),
    (SubstringFilter("a", "any"), 1, 0),
    (RepeatedLinesFilter(), 0.7, 0.69),
    (RepeatedLinesByCharFilter(), 0.8, 0.79),
    (RepeatedParagraphsFilter(), 0.7, 0.69),
    (RepeatedParagraphsByCharFilter(), 0.8, 0.79),
    (RepeatingTopNGramsFilter(), 0.2, 0.21),
    (RepeatingDuplicateNGramsFilter(), 0.2, 0.21),
]


@pytest.mark.parametrize(("rule", "stays", "goes"), LIMITS)
def test_defaults_include_their_limit(rule: TextFilter, stays: float, goes: float) -> None:
    assert rule.keeps(stays)
    assert not rule.keeps(goes)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (UrlsFilter(url_regex="["), "url_regex is not a regular expression: unterminated char"),
        (SubstringFilter("a", "middle"), "position is 'middle', but must be one of prefix, suffix"),  # type: ignore[arg-type]
        (RepeatingTopNGramsFilter(0), "n is 0, but must be 1 or more"),
        (
            WordCountFilter(words="spaces"),
            "words is 'spaces', but must be one of whitespace, punct",
        ),  # type: ignore[arg-type]
    ],
)
def test_invalid_options_are_problems_of_the_plan(rule: TextFilter, problem: str) -> None:
    [said] = rule.check()
    assert said.startswith(problem)


def test_rules_for_several_lengths_have_several_names() -> None:
    names = [RepeatingTopNGramsFilter(n).name for n in (2, 3)]
    assert names == ["repeating_top_2_grams_filter", "repeating_top_3_grams_filter"]
    assert RepeatingDuplicateNGramsFilter(5).name == "repeating_duplicate_5_grams_filter"
    assert RepeatingTopNGramsFilter(2).with_(name="mine").name == "mine"
