"""Runs, groups and roots agree with plain implementations."""

from itertools import groupby

import numpy as np
from curator_dedup.passes.group import (
    find_roots,
    group_equal,
    run_edges,
    run_starts,
    sorted_unique,
    sorted_unique_pairs,
)
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(0, 5), max_size=40)
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40)


@given(NUMBERS)
def test_run_edges_enclose_equal_values(numbers: list[int]) -> None:
    ordered = sorted(numbers)
    edges = run_edges(np.array(ordered, np.uint64))
    assert [ordered[start:end] for start, end in edges] == [
        list(run) for _, run in groupby(ordered)
    ]


@given(PAIRS)
def test_run_starts_where_any_column_changes(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    starts = [row == 0 or pairs[row] != pairs[row - 1] for row in range(len(pairs))]
    assert run_starts(table[:, 0], table[:, 1]).tolist() == starts
    assert run_starts(table).tolist() == starts


@given(PAIRS)
def test_distinct_values_are_sorted(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs, np.uint64).reshape(-1, 2)
    left, right = sorted_unique_pairs(table[:, 0], table[:, 1])
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == sorted(set(pairs))
    assert sorted_unique(table[:, 0]).tolist() == sorted({first for first, _ in pairs})


@given(PAIRS)
def test_equal_hashes_are_grouped_best_first(pairs: list[tuple[int, int]]) -> None:
    hashes = np.array(pairs, np.uint64).reshape(-1, 2)
    groups = group_equal(hashes, [-np.arange(len(pairs))])
    expected = []
    for pair in sorted(set(pairs)):
        rows = [row for row, other in enumerate(pairs) if other == pair]
        expected += sorted(rows, reverse=True) if len(rows) > 1 else []
    assert groups.rows.tolist() == expected
    assert groups.sizes.tolist() == [pairs.count(pairs[row]) for row in expected]
    assert groups.is_first.sum() == len({pairs[row] for row in expected})


@given(st.lists(st.integers(0, 1000), max_size=60))
def test_roots_are_the_last_ancestors(choices: list[int]) -> None:
    parents = [choice % (row + 1) for row, choice in enumerate(choices)]
    expected = []
    for row in range(len(parents)):
        root = row
        while parents[root] != root:
            root = parents[root]
        expected.append(root)
    assert find_roots(np.array(parents, np.int64)).tolist() == expected
