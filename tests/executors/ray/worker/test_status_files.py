"""A process is itself, and not whoever has its number later."""

import os
import subprocess
import sys
from dataclasses import replace

from curator_ray.worker.status_files import ProcessIdentity


def test_this_one_runs() -> None:
    own = ProcessIdentity.own()
    assert own.pid == os.getpid()
    assert own.runs()


def test_another_with_its_number_is_not_it() -> None:
    if ProcessIdentity.own().born:  # the system tells
        assert not replace(ProcessIdentity.own(), born="1").runs()


def test_one_that_has_ended_does_not_run_though_nobody_asked_how() -> None:
    tells = (
        "from curator_ray.worker.status_files import ProcessIdentity as P; "
        "o = P.own(); print(o.pid, o.born)"
    )
    child = subprocess.Popen([sys.executable, "-c", tells], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    pid, _, born = child.stdout.read().strip().partition(" ")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert int(pid) == child.pid
    assert not ProcessIdentity(int(pid), born).runs()
    child.communicate()
