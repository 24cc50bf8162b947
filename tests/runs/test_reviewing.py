"""Reviews of listings: what is left to do, and what it takes to remember that."""

import tracemalloc
from collections import deque

from curator_core.model.tasks import Task
from curator_core.run.result import RunResult
from curator_core.run.resume import Review
from curator_core.run.sources import GivenTasks
from curator_core.run.store import NothingKept


def test_where_nothing_was_done_before_no_list_of_sources_is_kept() -> None:
    review = Review(GivenTasks(map(Task, range(20_000))), NothingKept(), RunResult())
    sources = review.left_to_do()
    next(sources)
    tracemalloc.start()
    try:
        deque(sources, 0)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
