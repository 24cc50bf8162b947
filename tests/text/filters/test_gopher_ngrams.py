from collections import Counter

from curator_text.document_text import Words
from curator_text.filters.gopher import Repetitions, duplicates
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from(["a", "b", "cc", "ddd", "the", "word"]), min_size=1, max_size=60)


def n_grams(words: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[place : place + length]) for place in range(len(words) - length + 1)]


def top_by_counting(words: list[str], length: int) -> int:
    gram, times = Counter(n_grams(words, length)).most_common(1)[0]
    return len(" ".join(gram)) * times


def duplicates_by_walking(words: list[str], length: int) -> int:
    seen = set()
    chars = place = 0
    while place + length <= len(words):
        gram = tuple(words[place : place + length])
        if gram in seen:
            chars += len("".join(gram))
            place += length
        else:
            seen.add(gram)
            place += 1
    return chars


@given(words=WORDS, lengths=st.lists(st.integers(1, 8), max_size=4))
def test_fast_search_agrees_with_counting(words: list[str], lengths: list[int]) -> None:
    repetitions = Repetitions(Words(words, "whitespace"))
    for length in lengths:  # in any order, since levels build on each other
        if length <= len(words):
            top = top_by_counting(words, length)
            assert repetitions.top_chars(length) == top
            assert repetitions.top_chars_at_most(length) >= top
        assert repetitions.duplicate_chars(length) == duplicates_by_walking(words, length)


def test_duplicates_occurred_before() -> None:
    assert duplicates(["ab", "c", "ab", "ab", ""]) == (2, 4)
    assert duplicates(["ab", "c"]) == (0, 0)
    assert duplicates(["", ""]) == (1, 0)
