from collections import Counter

import pytest
from curator_text.repeating import Repeats
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from("abc"), max_size=40)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
@given(words=WORDS)
def test_the_runs_that_repeat_are_found_however_few_are_looked_at(
    length: int, words: list[str]
) -> None:
    runs = [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]
    counts = Counter(runs)
    repeated = [i for i, run in enumerate(runs) if counts[run] > 1]
    level = Repeats(words).of(length)
    assert level.positions == repeated
    assert level.firsts == [runs.index(runs[i]) for i in repeated]
    if repeated:
        most = max(counts.values())
        assert level.times == most
        assert level.top == min(i for i in repeated if counts[runs[i]] == most)
    else:
        assert (level.top, level.times) == (None, 1)


def test_lengths_are_worked_out_once_and_in_any_order() -> None:
    repeats = Repeats(["a", "b", "c", "a", "b", "c"])
    assert repeats.of(3).positions == [0, 3]
    assert repeats.of(2) is repeats.of(2)
    assert repeats.of(5).positions == []
