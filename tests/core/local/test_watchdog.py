"""Processes end with their parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from curator_core.local.watchdog import MARKERS, Watchdog
from waitkit import eventually

PARENT = """
import os, subprocess, sys
from curator_core.local.watchdog import MARKERS
from curator_core.local.watchdog import Watchdog
os.environ[MARKERS] = ":outer"
watchdog = Watchdog()
command = [sys.executable, "-c", "import time; time.sleep(600)"]
watched = subprocess.Popen(command, start_new_session=True)
watchdog.watch(watched.pid)
escaped = subprocess.Popen(command, start_new_session=True, env=watchdog.environment)
stranger = subprocess.Popen(command, start_new_session=True)
print(watched.pid, escaped.pid, stranger.pid, watchdog._process.pid, flush=True)
sys.stdin.read()
"""


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether the process has started to ignore this signal."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [ignored] = [line.split()[1] for line in lines if line.startswith("SigIgn:")]
    return bool(int(ignored, 16) >> (number - 1) & 1)


@pytest.fixture
def family() -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    pipe = subprocess.PIPE
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe, text=True)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    yield parent, pids
    for pid in (parent.pid, *pids):
        if not is_gone(pid):
            os.kill(pid, signal.SIGKILL)
    parent.communicate()


def test_processes_end_with_a_killed_parent(
    family: tuple["subprocess.Popen[str]", list[int]],
) -> None:
    parent, (watched, escaped, stranger, guard) = family
    parent.kill()
    assert eventually(lambda: is_gone(watched))
    assert eventually(lambda: is_gone(escaped))
    assert eventually(lambda: is_gone(guard))
    assert not is_gone(stranger)


def test_signals_to_the_guard_do_not_end_it(
    family: tuple["subprocess.Popen[str]", list[int]],
) -> None:
    parent, (watched, _, _, guard) = family
    assert eventually(lambda: ignores(guard, signal.SIGTERM))  # it has to be up
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(guard, number)
    assert not is_gone(guard)
    parent.kill()
    assert eventually(lambda: is_gone(watched))


def test_processes_that_were_forgotten_are_left_alone() -> None:
    watchdog = Watchdog()
    with subprocess.Popen(["sleep", "600"], start_new_session=True, env={**os.environ}) as sleeper:
        watchdog.watch(sleeper.pid)
        watchdog.forget(sleeper.pid)
        watchdog.finish()
        assert not is_gone(sleeper.pid)
        sleeper.kill()


def test_a_killed_watchdog_harms_no_process() -> None:
    watchdog = Watchdog()
    watchdog._process.kill()
    watchdog._process.wait()
    watchdog.watch(2**22 + 1)
    watchdog.finish()


def test_every_pool_has_its_own_mark() -> None:
    guards = [Watchdog(), Watchdog()]
    assert guards[0].environment != guards[1].environment
    assert MARKERS not in os.environ
    for watchdog in guards:
        watchdog.finish()
