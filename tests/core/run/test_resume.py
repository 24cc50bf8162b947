"""Remaining sources: how much memory it takes to compare a listing with earlier runs."""

import tracemalloc
from collections import deque

from curator_core.model.tasks import Task
from curator_core.run.result import RunResult
from curator_core.run.resume import RemainingSources
from curator_core.run.sources import TaskListing
from curator_core.run.store import NoStore


def test_without_an_earlier_run_no_list_of_sources_is_kept() -> None:
    review = RemainingSources(TaskListing(map(Task, range(20_000))), NoStore(), RunResult())
    sources = review.remaining()
    next(sources)
    tracemalloc.start()
    try:
        deque(sources, 0)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
