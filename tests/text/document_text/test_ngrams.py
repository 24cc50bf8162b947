from collections import Counter

import pytest
from curator_text.document_text import NGramSearch
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from("abc"), max_size=40)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
@given(words=WORDS)
def test_repeated_ngrams_agree_with_a_plain_search(length: int, words: list[str]) -> None:
    runs = [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]
    counts = Counter(runs)
    repeated = [i for i, run in enumerate(runs) if counts[run] > 1]
    level = NGramSearch(words).of_length(length)
    assert level.positions == repeated
    assert level.firsts == [runs.index(runs[i]) for i in repeated]
    if repeated:
        most = max(counts.values())
        assert level.times == most
        assert level.top == min(i for i in repeated if counts[runs[i]] == most)
    else:
        assert (level.top, level.times) == (None, 1)


def test_lengths_are_computed_once_and_in_any_order() -> None:
    repeats = NGramSearch(["a", "b", "c", "a", "b", "c"])
    assert repeats.of_length(3).positions == [0, 3]
    assert repeats.of_length(2) is repeats.of_length(2)
    assert repeats.of_length(5).positions == []
