"""Large texts are split like small ones, with less memory."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from curator_text import (
    DocumentText,
    GopherRepetitionFilter,
    RepeatingDuplicateNGramsFilter,
    document_text,
)
from hypothesis import given
from hypothesis import strategies as st

SPACED = st.text(st.sampled_from("ab \n\t\x1c\x85\u00a0\u2028\u3000\u200b\ud800é"), max_size=60)


@pytest.fixture(scope="module", autouse=True)
def all_is_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_text, "_LARGE", 1)
        patch.setattr(document_text, "_PIECE", 7)
        yield


@given(SPACED)
def test_words_of_a_large_text_are_those_of_str_split(text: str) -> None:
    assert document_text.split_at_spaces(text) == text.split()
    assert DocumentText(text).words == text.split()


def test_equal_words_and_ngrams_share_one_object() -> None:
    words = document_text.split_at_spaces("one two three " * 9)
    assert len({id(word) for word in words}) == 3
    assert len({id(run) for run in document_text.list_shared(pairwise(words), len(words))}) == 3


@pytest.mark.parametrize(
    "text", ["one two three " * 20, "a b " * 3 + "c d e f g h i j k l m n o p"]
)
def test_rules_agree_on_large_texts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [RepeatingDuplicateNGramsFilter(n) for n in (2, 3, 5)]
    sets = GopherRepetitionFilter()
    large = [
        *(rule.score(DocumentText(text)) for rule in rules),
        sets.broken_rule(DocumentText(text)),
    ]
    monkeypatch.setattr(document_text, "_LARGE", 10**9)
    assert large == [
        *(rule.score(DocumentText(text)) for rule in rules),
        sets.broken_rule(DocumentText(text)),
    ]
