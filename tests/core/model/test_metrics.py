"""Metrics: names and values that are refused, and summaries that merge."""

import json
import math
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from curator_core.model.metrics import (
    MOST_NAMES,
    NO_METRICS,
    MetricsRecorder,
    MetricSummary,
    check_metrics,
    merge_metrics,
)
from curator_core.model.records import StageCounts
from curator_core.model.reports import CountTable
from hypothesis import given
from hypothesis import strategies as st

finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**40), 2**40)


def summary(*values: float) -> MetricSummary:
    total = NO_METRICS
    for value in values:
        total = merge_metrics(total, {"": MetricSummary.of(value)})
    return total[""]


def recorder() -> MetricsRecorder:
    made = MetricsRecorder("score")
    made.is_open = True
    return made


@given(st.lists(whole, min_size=1), st.lists(whole, min_size=1))
def test_parts_add_up_to_the_whole(some: list[int], more: list[int]) -> None:
    merged = summary(*some).plus(summary(*more))
    assert merged == summary(*some, *more) == summary(*more).plus(summary(*some))
    both = some + more
    assert merged == MetricSummary(len(both), sum(both), min(both), max(both))


@given(st.lists(finite, min_size=1))
def test_every_summary_can_be_written_and_read(values: list[float]) -> None:
    counts = StageCounts(metrics={"score": summary(*values)})
    assert math.isfinite(counts.metrics["score"].sum)
    assert StageCounts.from_json(json.loads(json.dumps(counts.to_json()))) == counts


def test_the_mean_is_of_all_values() -> None:
    assert summary(1, 2, 6).mean == 3


@pytest.mark.parametrize("others", [0, 3])
def test_a_table_of_counts_has_them_by_source_and_in_sum(others: int) -> None:
    rows = {(key, 1): {0: StageCounts(metrics={"n": summary(1, 5)})} for key in "ab"}
    rows |= {(str(n), 1): {0: StageCounts(tasks_in=1)} for n in range(others)}
    table = CountTable(rows)
    assert dict(table.rows()) == rows
    assert table.total()[0].metrics == {"n": summary(1, 5, 1, 5)}


@pytest.mark.parametrize(
    "value", [3, 3.0, True + 2, np.float32(3), np.int64(3), Fraction(3), np.array([3])[0]]
)
def test_numbers_of_all_kinds(value: Any) -> None:
    assert check_metrics({"n_1": value}) == {"n_1": 3.0}


@pytest.mark.parametrize("name", ["", "a b", "a-b", "a.b", "é", "a\n", 1, None])
def test_names_are_letters_digits_and_underscores(name: Any) -> None:
    with pytest.raises(ValueError, match="letters, digits and _"):
        check_metrics({name: 1})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, np.float64("nan")])
def test_values_are_finite(value: Any) -> None:
    with pytest.raises(ValueError, match=r"'n' is .* finite"):
        check_metrics({"n": value})


@pytest.mark.parametrize("value", ["3", None, [3], np.array([3.0]), 3j])
def test_values_are_numbers(value: Any) -> None:
    with pytest.raises(TypeError, match="'n' is a"):
        check_metrics({"n": value})


def test_a_stage_has_a_limited_number_of_names() -> None:
    made = recorder()
    for number in range(MOST_NAMES):
        made.add({f"n{number}": 1})
    made.add({"n0": 2})
    with pytest.raises(ValueError, match=rf"'score' logged more than {MOST_NAMES}.*'other'"):
        made.add({"n0": 3, "other": 1})
    taken = made.take()
    assert (len(taken), taken["n0"]) == (MOST_NAMES, summary(1, 2))


def test_what_was_taken_is_not_there_any_more() -> None:
    made = recorder()
    made.add({"n": 1})
    assert made.take() == {"n": summary(1)}
    assert made.take() == {}
    made.add({"n": 2})
    assert made.take() == {"n": summary(2)}


def test_threads_of_a_stage_lose_nothing() -> None:
    made = recorder()

    def log() -> None:
        for _ in range(2000):
            made.add({"n": 1})

    run_all([log] * 4)
    assert made.take()["n"].count == 8000


def run_all(functions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
