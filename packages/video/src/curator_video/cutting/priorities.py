"""Thread priorities: keep encoders from starving the rest of the machine.

When run by root (in containers, for example), SVT-AV1 turns its threads and the thread that opens
it into real-time threads. These starve all other work, and child processes inherit the priority.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")


@contextmanager
def as_before() -> Iterator[None]:
    """Restore the scheduling policy of threads that become real-time threads within the block."""
    if not _THREADS.is_dir():  # only Linux needs this
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        for thread in map(int, os.listdir(_THREADS)):
            with suppress(OSError):  # the thread has just ended
                if os.sched_getscheduler(thread) in (os.SCHED_FIFO, os.SCHED_RR):
                    os.sched_setscheduler(thread, policy, parameters)
