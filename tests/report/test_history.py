"""Histories: bounded memory for any number of events."""

import tracemalloc
from pathlib import Path

import pytest
from curator_report.history import MOST_POINTS, MOST_SLOW, History, slowest_first
from curator_report.page import render
from curator_report.run_record import read_run
from reportkit import write_run


def test_many_events_need_little_memory(tmp_path: Path) -> None:
    """Reading needs less memory than the file is large."""
    run = write_run(tmp_path / "run", stages=8, events=70_000)
    assert (tmp_path / "run" / "events.jsonl").stat().st_size > 10e6
    tracemalloc.start()
    record = read_run(run, in_short=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 7e6
    assert record.result.sources_done == 70_000
    assert len(record.history.points) <= MOST_POINTS
    assert record.folders == {"/out": 70_000}


def test_the_slowest_come_first(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=3000), in_short=True)
    slowest = list(slowest_first(record.history))
    assert len(slowest) == MOST_SLOW
    assert slowest[0].seconds == 9.76
    seconds = [one.seconds for one in slowest]
    assert seconds == sorted(seconds, reverse=True)
    assert slowest[0].label in render(record)


def test_points_span_the_whole_of_a_long_run(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=9000), in_short=True)
    first, last = record.history.points[0][0], record.history.points[-1][0]
    assert first < 100
    assert last > 3400


def test_attempts_add_up_without_the_pause_between_them() -> None:
    history = History()
    for time, kind in ((10.0, "run_started"), (15.0, "run_ended"), (100.0, "run_started")):
        history.take({"time": time, "event": kind})
    assert history.seconds(103.0) == 8.0


def test_the_rate_of_a_running_run_is_that_of_the_last_minute() -> None:
    history = History()
    history.take({"time": 0.0, "event": "run_started"})
    for second in range(600):
        done = ["a"] * (10 if second < 500 else 2)
        history.take({"time": float(second), "event": "sources_done", "sources": done})
    assert history.rate(600.0, is_running=True) == pytest.approx(2.0, rel=0.05)
    assert history.rate(600.0, is_running=False) == pytest.approx(5200 / 599, rel=0.01)
