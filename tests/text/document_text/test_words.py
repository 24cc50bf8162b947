from typing import get_args

import pytest
from curator_text import (
    DocumentText,
    LongWordFilter,
    MeanWordLengthFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
    SymbolsToWordsFilter,
    WordCountFilter,
    WordFilter,
    WordsWithoutAlphabetsFilter,
)
from curator_text.document_text import WordKind, tokenize
from hypothesis import given
from hypothesis import strategies as st

RULES: list[type[WordFilter]] = [
    LongWordFilter,
    MeanWordLengthFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
    SymbolsToWordsFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
]


@pytest.mark.parametrize(
    ("text", "whitespace", "punctuation", "cjk_aware"),
    [
        ("It's late, go (now).", 4, 8, 4),
        ("今天天气很好。", 1, 2, 7),
        ("東京へ行きます", 1, 1, 7),
        ("カﾞ行", 1, 1, 2),  # a combining sign is not a word
        ("สวัสดีครับ", 1, 1, 7),
        ("한국어 단어", 2, 2, 2),
        ("我 love 東京", 3, 3, 4),
        ("e\u0301te\u0301", 1, 1, 1),
    ],
)
def test_word_count_by_kind_of_words(
    text: str, whitespace: int, punctuation: int, cjk_aware: int
) -> None:
    counts = [WordCountFilter(words=kind).score(DocumentText(text)) for kind in get_args(WordKind)]
    assert counts == [whitespace, punctuation, cjk_aware]


@pytest.mark.parametrize("kind", get_args(WordKind))
@given(text=st.text(st.characters()))
def test_words_have_every_character_but_white_space(kind: WordKind, text: str) -> None:
    assert "".join(tokenize(text, kind)) == "".join(text.split())


@pytest.mark.parametrize("kind", get_args(WordKind))
@pytest.mark.parametrize("rule", RULES)
@given(text=st.text(min_size=1).filter(str.strip))
def test_every_word_rule_takes_every_kind(
    rule: type[WordFilter], kind: WordKind, text: str
) -> None:
    assert rule(words=kind).score(DocumentText(text)) >= 0


def test_words_are_split_once() -> None:
    text = DocumentText("a, b")
    assert text.split_words("punctuation") is text.split_words("punctuation")
    assert text.split_words("whitespace").words is text.words


def test_ngrams_of_unspaced_words_have_no_spaces() -> None:
    text = DocumentText("你好吗你好吗你好")
    top = RepeatingTopNGramsFilter(2, words="cjk-aware")
    assert top.score(text) == pytest.approx(3 * 2 / 8)
    repeated = RepeatingDuplicateNGramsFilter(2, words="cjk-aware")
    assert repeated.score(text) == pytest.approx(5 / 8)
    assert top.score(DocumentText("好" * 100)) == 1.0, (
        "occurrences overlap, but no share is above 1"
    )


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("whitespace", "Don't stop,\tnow...\u00a0ok", ["Don't", "stop,", "now...", "ok"]),
        ("punctuation", "Don't stop, now..", ["Don't", "stop", ",", "now", ".", "."]),
        ("punctuation", "me@a.b (e-mail) x_y _z", ["me@a.b", "(", "e-mail", ")", "x_y", "_", "z"]),
        ("punctuation", "हिन्दी, है।", ["हिन्दी", ",", "है।"]),
        ("cjk-aware", "我 love 東京tower。", ["我", "love", "東", "京", "tower。"]),
    ],
)
def test_words_of_each_kind(kind: WordKind, text: str, expected: list[str]) -> None:
    assert tokenize(text, kind) == expected
    assert sum(DocumentText(text).split_words(kind).counts.values()) == len(expected)
