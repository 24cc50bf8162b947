"""Shares add up, and nobody is off by a row."""

from fractions import Fraction

from curator_text.mixing.shares import apportioned, most_without_repeating, spread
from hypothesis import given
from hypothesis import strategies as st

WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)


@given(st.integers(0, 10**9), WEIGHTS)
def test_shares_add_up_and_none_is_off_by_a_row(total: int, weights: list[float]) -> None:
    given = apportioned(total, weights)
    assert sum(given) == total
    for rows, weight in zip(given, weights, strict=True):
        assert abs(rows - total * weight / sum(weights)) < 1 + 1e-3


def test_equal_rests_go_to_the_first() -> None:
    assert apportioned(10, [1, 1, 1]) == [4, 3, 3]
    assert apportioned(10, [0.7, 0.3]) == [7, 3]


@given(st.data())
def test_the_largest_total_repeats_nothing(data: st.DataObject) -> None:
    weights = data.draw(WEIGHTS)
    count = st.integers(1, 10**6)
    counts = data.draw(st.lists(count, min_size=len(weights), max_size=len(weights)))
    total = most_without_repeating(counts, weights)
    assert all(a <= b for a, b in zip(apportioned(total, weights), counts, strict=True))
    whole = sum(map(Fraction, weights))
    wanted = [(total + 1) * Fraction(weight) / whole for weight in weights]
    assert any(a > b for a, b in zip(wanted, counts, strict=True))


@given(st.data())
def test_batches_give_what_is_wanted_together(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
    wanted = data.draw(st.integers(0, sum(counts)))
    given = spread(wanted, counts)
    assert sum(given) == wanted
    for taken, count in zip(given, counts, strict=True):
        assert 0 <= taken <= count
        assert abs(taken - wanted * count / sum(counts)) < 1
