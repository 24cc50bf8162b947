from typing import get_args

import pytest
from curator_text.texts import Text
from curator_text.tokenizing import Words, tokenized, unknown_words, word_counts_of, words_of
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        ("whitespace", "Don't stop,\tnow...\u00a0ok", ["Don't", "stop,", "now...", "ok"]),
        ("punctuation", "Don't stop, now...", ["Don't", "stop", ",", "now", ".", ".", "."]),
        ("punctuation", "me@a.b (e-mail) x_y _z", ["me@a.b", "(", "e-mail", ")", "x_y", "_", "z"]),
        ("punctuation", "हिन्दी, है।", ["हिन्दी", ",", "है।"]),
        ("punctuation", "你好。", ["你好", "。"]),
        ("cjk-aware", "我 love 東京tower。", ["我", "love", "東", "京", "tower。"]),
        ("cjk-aware", "plain words", ["plain", "words"]),
        ("cjk-aware", "한국어 단어", ["한국어", "단어"]),
    ],
)
def test_what_counts_as_a_word_is_chosen(words: Words, text: str, expected: list[str]) -> None:
    assert tokenized(text, words) == expected


@pytest.mark.parametrize("words", get_args(Words))
@given(text=st.text(st.characters()))
def test_no_character_is_lost_but_white_space(words: Words, text: str) -> None:
    assert "".join(tokenized(text, words)) == "".join(text.split())


@pytest.mark.parametrize("words", get_args(Words))
def test_words_are_found_once(words: Words) -> None:
    text = Text("one, two, one")
    assert words_of(text, words) is words_of(text, words)
    assert word_counts_of(text, words) is word_counts_of(text, words)
    assert max(word_counts_of(text, words).values()) >= 1


def test_words_are_counted_as_they_are_split() -> None:
    assert word_counts_of(Text("a, a"), "whitespace") == {"a,": 1, "a": 1}
    assert word_counts_of(Text("a, a"), "punctuation") == {"a": 2, ",": 1}


def test_another_choice_is_refused() -> None:
    assert unknown_words("whitespace") is None
    assert unknown_words("spaces") == (
        "words is 'spaces', but must be one of whitespace, punctuation, cjk-aware"
    )
