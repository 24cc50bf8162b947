"""Long tests with figures: `pytest -m soak -s tests/executors/streaming/clusters`."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from clusterkit import say

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

JOBS = Path(__file__).parent / "soak_job.py"


class WatchedJob:
    """A job in another process, with the memory of its process tree and its workers."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        folder.mkdir(exist_ok=True)
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, str(JOBS), str(folder), *map(str, arguments)],
            env={k: v for k, v in os.environ.items() if not k.startswith("RAY_")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._private: dict[int, int] = {}
        self._shared = 0
        self._tree = psutil.Process(self.process.pid)

    def workers(self) -> list[psutil.Process]:
        return [p for p in self._descendants() if "ray::Stage" in _title(p)]

    def measure(self) -> None:
        for process in [self._tree, *self._descendants()]:
            try:
                memory = process.memory_info()
            except psutil.Error:
                continue
            private = memory.rss - memory.shared
            self._private[process.pid] = max(private, self._private.get(process.pid, 0))
            self._shared = max(self._shared, memory.shared)

    @property
    def peak(self) -> int:
        """The sum of the private peaks of all processes, plus the store once.

        They do not peak at the same moment, so the peak of the sum would depend on chance.
        """
        return sum(self._private.values()) + self._shared

    def result(self, seconds: float = 600) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, err
        facts: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        facts["wall"] = time.monotonic() - self.begun
        return facts

    def _descendants(self) -> list[psutil.Process]:
        try:
            return self._tree.children(recursive=True)
        except psutil.Error:
            return []


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@contextmanager
def watched(folder: Path, *arguments: object) -> Iterator[WatchedJob]:
    job = WatchedJob(folder, *arguments)
    done = threading.Event()

    def measure() -> None:
        while not done.wait(0.1):
            job.measure()

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        yield job
    finally:
        done.set()
        thread.join()
        job.process.kill()


def parts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "out").glob("part-*")}


def test_a_random_worker_is_killed_every_two_seconds(tmp_path: Path) -> None:
    count, seconds = 1200, 0.1  # about a minute with two workers
    with watched(tmp_path / "calm", "files", count, seconds) as job:
        calm = job.result()
    chance = random.Random(3)
    kills = 0
    with watched(tmp_path / "disturbed", "files", count, seconds) as job:
        while job.process.poll() is None:
            time.sleep(2)
            if workers := job.workers():
                os.kill(chance.choice(workers).pid, signal.SIGKILL)
                kills += 1
        disturbed = job.result()
    found = sorted(int(text) for text in parts(tmp_path / "disturbed").values())
    ratio = disturbed["seconds"] / calm["seconds"]
    say(
        f"killed {kills} workers in {disturbed['seconds']:.1f} s; lost {count - len(set(found))}, "
        f"duplicated {len(found) - len(set(found))}; {ratio:.2f}x the "
        f"{calm['seconds']:.1f} s undisturbed; quarantined "
        f"{disturbed['quarantined']}; {disturbed['restarts']}"
    )
    assert kills > 10
    assert parts(tmp_path / "disturbed") == parts(tmp_path / "calm")
    assert disturbed["quarantined"] == 0
    assert ratio <= 1.3


def test_memory_does_not_grow_with_the_number_of_tasks(tmp_path: Path) -> None:
    """200 tasks are too few to fill the queues and the largest calls."""
    peaks: dict[int, int] = {}
    with watched(tmp_path / "base", "megabytes", 2) as job:
        job.result()
        base = job.peak
    for count in (200, 1000, 3000):
        with watched(tmp_path / str(count), "megabytes", count) as job:
            facts = job.result()
            peaks[count] = job.peak - base
        say(
            f"{count} x 1 MB: {peaks[count] / 1e6:.0f} MB over the {base / 1e6:.0f} MB of an idle "
            f"tree, driver {facts['driver_mb']:.0f} MB, {facts['seconds']:.1f} s, "
            f"spilled {facts['spilled'] / 1e6:.0f} MB"
        )
    assert max(peaks.values()) <= 1.2 * peaks[1000]


def test_20_gb_pass_through_a_store_of_1_gb(tmp_path: Path) -> None:
    gigabytes = float(os.environ.get("CURATOR_SOAK_GB", "20"))
    with watched(tmp_path / "flow", "flow", int(gigabytes * 100)) as job:
        facts = job.result(800)
        say(
            f"{gigabytes:g} GB through 1 GB in {facts['seconds']:.1f} s "
            f"({gigabytes / facts['seconds'] * 1000:.0f} MB/s): spilled "
            f"{facts['spilled'] / 1e6:.0f} MB, peak of the tree {job.peak / 1e6:.0f} MB"
        )
    assert facts["done"] == int(gigabytes * 100)
    assert facts["spilled"] == 0


def test_inflating_a_hundred_times_stays_within_the_budget(tmp_path: Path) -> None:
    with watched(tmp_path / "inflate", "inflate", 60) as job:
        facts = job.result()
        say(
            f"60 x 1 MB inflated to 100 MB each through 1 GB in {facts['seconds']:.1f} s: "
            f"spilled {facts['spilled'] / 1e6:.0f} MB, peak of the tree {job.peak / 1e6:.0f} MB"
        )
    assert facts["done"] == 60
    assert facts["spilled"] == 0


def test_the_machine_is_reported() -> None:
    load = os.getloadavg()[0]
    free = shutil.disk_usage("/tmp").free
    say(f"{os.cpu_count()} cores, load {load:.1f}, {free / 1e9:.0f} GB free on disk")
    assert re.match("3.1", sys.version)
