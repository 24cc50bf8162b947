"""Timelines: never more busy workers than there were, and stable colours."""

import re
from types import SimpleNamespace
from typing import Any

from curator_core.model.snapshot import IN_SHORT
from curator_report.html import render_part
from curator_report.timelines import timelines
from hypothesis import given
from hypothesis import strategies as st


def drawn(busy: list[list[float]], workers: int, *, ends_idle: bool = False) -> str:
    """Plot a run that was observed each second, with the busy seconds of each stage so far."""
    points: list[tuple[float, dict[str, Any]]] = []
    for second, row in enumerate(busy):
        stages = [[seconds if name == "busy_s" else 0 for name in IN_SHORT] for seconds in row]
        is_left = workers and not (ends_idle and second == len(busy) - 1)
        at_work = {"busy": workers} if is_left else {}
        points.append((float(second), {"workers": at_work, "stages": stages}))
    return render_part(
        "plots",
        "timelines",
        timelines(SimpleNamespace(points=points), [f"s{n}" for n in range(len(busy[0]))]),  # type: ignore[arg-type]
    )


def highest(page: str) -> float:
    [found] = re.findall(r'aria-label="At work, by stage, up to ([\d.,e+-]+) workers"', page)
    return float(found.replace(",", ""))


def test_a_long_call_counts_as_busy_before_it_is_reported() -> None:
    page = drawn([[0.0]] * 10 + [[20.0]], workers=2)
    assert highest(page) == 2
    [line] = re.findall(r'<polyline class="c0" points="([^"]+)"', page)
    assert {point.split(",")[1] for point in line.split()} == {"0.0"}, "all of the time"


def test_with_an_unknown_number_of_workers_the_reported_time_is_shown() -> None:
    assert highest(drawn([[0.0], [0.0], [0.0], [9.0]], workers=0)) == 9


def test_workers_that_stopped_at_the_end_still_limit_the_plot() -> None:
    page = drawn([[0.0], [0.0], [0.0], [9.0]], workers=1, ends_idle=True)
    assert highest(page) <= 1


def test_a_stage_has_the_same_colour_in_all_plots() -> None:
    queue = IN_SHORT.index("queue_tasks")
    points: list[tuple[float, dict[str, Any]]] = []
    for second in range(4):
        stages = [[second * one if name == "busy_s" else 0.0 for name in IN_SHORT]
                  for one in (0.1, 0.9, 0.0)]  # fmt: skip
        stages[0][queue], stages[2][queue] = 9, 5
        points.append((float(second), {"workers": {"busy": 1}, "stages": stages}))
    page = render_part(
        "plots",
        "timelines",
        timelines(SimpleNamespace(points=points), ["read", "nap", "write"]),  # type: ignore[arg-type]
    )
    keys = re.findall(r'<i class="c(\d)"></i>(\w+)<', page)
    assert keys == [("0", "busy"), ("0", "nap"), ("1", "read"), ("1", "read"), ("2", "write")]


@given(
    st.lists(st.lists(st.floats(0, 50), min_size=2, max_size=2), min_size=3, max_size=20),
    st.integers(1, 5),
)
def test_never_more_busy_workers_than_workers(more: list[list[float]], workers: int) -> None:
    busy = [[sum(row[stage] for row in more[:n]) for stage in (0, 1)] for n in range(len(more) + 1)]
    page = drawn(busy, workers)
    if "At work" in page:
        assert highest(page) <= workers + 0.01
