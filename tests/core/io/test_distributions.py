"""Distributions merge exactly, and their quantiles are right to 1 %."""

import json
import math

import pytest
from curator_core.io.statistics import Distribution, bin_of, middle_of
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-6 else x)


@given(NUMBERS)
def test_the_middle_of_a_bin_is_within_one_percent_of_its_values(value: float) -> None:
    assert middle_of(bin_of(value)) == pytest.approx(value, rel=0.0101, abs=1e-9)


@given(NUMBERS, NUMBERS)
def test_bins_are_in_the_order_of_numbers(one: float, other: float) -> None:
    if one < other:
        assert bin_of(one) <= bin_of(other)


@given(st.lists(NUMBERS, min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_right_to_one_percent(values: list[float], share: float) -> None:
    exact = sorted(values)[math.floor(share * (len(values) - 1))]
    assert Distribution.of(values).quantile(share) == pytest.approx(exact, rel=0.0101, abs=1e-9)


@given(st.lists(st.integers(-(10**6), 10**6)), st.lists(st.integers(-(10**6), 10**6)))
def test_parts_add_up_to_the_whole_also_through_json(some: list[int], more: list[int]) -> None:
    parts = [Distribution.of(some), Distribution.of(more)]
    merged = Distribution()
    for part in parts:
        merged.merge(Distribution.from_json(json.loads(json.dumps(part.to_json()))))
    assert merged == Distribution.of([*some, *more])


@given(st.lists(st.integers(-50, 50), min_size=1), st.floats(0, 1))
def test_quantiles_of_small_whole_numbers_are_exact(values: list[int], share: float) -> None:
    exact = sorted(values)[math.floor(share * (len(values) - 1))]
    assert Distribution.of(values).quantile(share) == exact


def test_summary_figures() -> None:
    numbers = Distribution.of([1, 2, 3, 4, math.nan, math.inf])
    assert (numbers.count, numbers.not_finite) == (4, 2)
    assert (numbers.mean, numbers.least, numbers.most) == (2.5, 1, 4)
    assert numbers.deviation == pytest.approx(1.118, abs=1e-3)
    assert math.isnan(Distribution().mean)
    assert math.isnan(Distribution().quantile(0.5))
