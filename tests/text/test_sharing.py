"""Large texts are taken apart as small ones are, with less memory."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from curator_text import GopherRepetitionFilter, RepeatingDuplicateNGramsFilter, Text, sharing
from hypothesis import given
from hypothesis import strategies as st

SPACED = st.text(st.sampled_from("ab \n\t\x1c\x85\u00a0\u2028\u3000\u200b\ud800é"), max_size=60)


@pytest.fixture(scope="module", autouse=True)
def all_is_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "LARGE", 1)
        patch.setattr(sharing, "_PIECE", 7)
        yield


@given(SPACED)
def test_words_are_what_splitting_finds(text: str) -> None:
    assert sharing.words_of(text) == text.split()
    assert Text(text).words == text.split()


def test_equal_words_and_runs_are_one_object() -> None:
    words = sharing.words_of("one two three " * 9)
    assert len({id(word) for word in words}) == 3
    assert len({id(run) for run in sharing.listed(pairwise(words), len(words))}) == 3


@pytest.mark.parametrize(
    "text", ["one two three " * 20, "a b " * 3 + "c d e f g h i j k l m n o p"]
)
def test_rules_say_the_same_of_large_texts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [RepeatingDuplicateNGramsFilter(n) for n in (2, 3, 5)]
    sets = GopherRepetitionFilter()
    large = [*(rule.score(Text(text)) for rule in rules), sets.why_not(Text(text))]
    monkeypatch.setattr(sharing, "LARGE", 10**9)
    assert large == [*(rule.score(Text(text)) for rule in rules), sets.why_not(Text(text))]
