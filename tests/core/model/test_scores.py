"""Scores: bins that are the same everywhere, and add up exactly."""

import math
from array import array
from itertools import pairwise

import pytest
from curator_core import DocumentBatch
from curator_core.model.records import StageCounts
from curator_core.model.reports import CountTable
from curator_core.model.scores import Scores, attach_scores, bins_of, edges_of, take_scores
from curator_core.run.commits import Commit
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**6), 10**6))


@given(NUMBERS)
def test_every_finite_number_is_in_the_bin_that_holds_it(numbers: list[float]) -> None:
    finite = [number for number in numbers if math.isfinite(number)]
    assert sum(bins_of(numbers).values()) == len(finite)
    for number in finite:
        [(place, times)] = bins_of([number]).items()
        assert times == 1
        if 2.0**-30 <= abs(number) < 2.0**60:
            low, high = edges_of(place)
            assert low <= number <= high
            assert high - low <= abs(number) / 15.9


@given(NUMBERS, NUMBERS, NUMBERS)
def test_parts_add_up_to_the_whole_in_any_order(
    one: list[float], two: list[float], three: list[float]
) -> None:
    parts = [Scores.of(one, two), Scores.of(two, three), Scores.of(three, one)]
    whole = Scores.of([*one, *two, *three], [*two, *three, *one])
    assert parts[0].plus(parts[1]).plus(parts[2]) == whole
    assert parts[2].plus(parts[0]).plus(parts[1]) == whole
    assert Scores.from_json(whole.to_json()) == whole


def test_the_number_of_bins_is_limited() -> None:
    odd = [10.0**power * sign for power in range(-300, 300) for sign in (1, -1)]
    assert len(bins_of(odd)) < 200
    assert bins_of([0, -0.0, 1e-300, -1e-300]) == {0: 4}


def test_bins_follow_each_other_without_a_gap() -> None:
    places = sorted(bins_of([1 + step / 1000 for step in range(1000)]))
    edges = [edges_of(place) for place in places]
    assert len(places) == 16
    assert edges[0][0] == 1.0
    assert edges[-1][1] == 2.0
    assert all(one[1] == other[0] for one, other in pairwise(edges))
    assert [edges_of(place) for place in bins_of([-3.0])] == [(-3.125, -3.0)]


def test_an_array_is_counted_like_a_list() -> None:
    assert bins_of(array("d", [1.0, 2.0])) == bins_of([1, 2]) == bins_of((True, 2.0))


def test_values_that_are_not_numbers_are_left_out() -> None:
    assert bins_of([None, "much", 10**400, 2]) == bins_of([2])


def test_scores_of_a_batch_are_taken_once() -> None:
    task = DocumentBatch.from_pylist([{"n": 1}])
    attach_scores(task, "none", Scores())
    attach_scores(task, "weight", Scores.of([1]))
    assert take_scores(task) == {"weight": Scores.of([1])}
    assert take_scores(task) == {}


def counts() -> StageCounts:
    return StageCounts(tasks_in=1, tasks_passed=1, scores={"weight": Scores.of([1, 2], [3])})


def test_a_line_of_the_journal_holds_them_and_memory_keeps_them_small() -> None:
    commit = Commit(["a"], {}, counts={0: counts(), 1: StageCounts(tasks_in=2)})
    again = Commit.from_entry(commit.to_entry())
    assert again.counts == commit.counts
    again.compress_counts()
    assert again.counts == {}
    assert again.to_entry() == commit.to_entry()
    assert again.account() == commit.counts


@pytest.mark.parametrize("others", [0, 3])
def test_a_tally_has_them_by_source_and_in_sum(others: int) -> None:
    rows = {("a", 1): {0: counts()}, ("b", 1): {0: counts()}}
    rows |= {(str(n), 1): {0: StageCounts(tasks_in=1)} for n in range(others)}
    tally = CountTable(rows)
    assert dict(tally.rows()) == rows
    assert tally.total()[0].scores == {"weight": Scores.of([1, 2, 1, 2], [3, 3])}
