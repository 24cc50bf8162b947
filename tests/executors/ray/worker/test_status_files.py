"""A process is identified by its id and its start time."""

import os
import subprocess
import sys
from dataclasses import replace

from curator_ray.worker.status_files import ProcessIdentity


def test_this_process_runs() -> None:
    own = ProcessIdentity.own()
    assert own.pid == os.getpid()
    assert own.runs()


def test_another_process_with_the_same_id_is_not_it() -> None:
    if ProcessIdentity.own().born:  # not outside Linux
        assert not replace(ProcessIdentity.own(), born="1").runs()


def test_a_zombie_does_not_run() -> None:
    script = (
        "from curator_ray.worker.status_files import ProcessIdentity as P; "
        "o = P.own(); print(o.pid, o.born)"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid, _, born = child.stdout.read().strip().partition(" ")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert int(pid) == child.pid
    assert not ProcessIdentity(int(pid), born).runs()
    child.communicate()
