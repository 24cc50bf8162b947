"""Priorities: no encoder may keep the machine from everything else.

SVT-AV1, where root runs it (in containers, say), makes real-time threads of its own and of that
which opens it: whatever else wants a processor waits, and so do all children of the process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")


@contextmanager
def as_before() -> Iterator[None]:
    """Threads that become real-time ones within the block leave it as this thread came in."""
    if not _THREADS.is_dir():  # only Linux has such threads
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        for thread in map(int, os.listdir(_THREADS)):
            with suppress(OSError):  # it has just ended
                if os.sched_getscheduler(thread) in (os.SCHED_FIFO, os.SCHED_RR):
                    os.sched_setscheduler(thread, policy, parameters)
