"""Commands of tests on one CPU, where a run starts one worker process and not one for each."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_cpu() -> Iterator[None]:
    """Processes that are started meanwhile may use one of our CPUs."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {random.choice(sorted(ours))})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)
