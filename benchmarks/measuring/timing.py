"""Timing: jobs in processes of their own, taken in turns, the median of each."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

JOBS = Path(__file__).parents[1] / "jobs"
SAMPLE_S = 0.02


class JobFailedError(Exception):
    """A job ended badly: the last line of what it said, and all of it in `said`."""

    def __init__(self, script: str, said: str) -> None:
        self.said = said.strip()
        last = self.said.splitlines()[-1] if self.said else "it said nothing"
        super().__init__(f"{script}: {last}")


@dataclass(frozen=True)
class Outcome:
    """What a job said of itself on its last line, and what was seen from outside."""

    facts: dict[str, Any]
    seconds: float
    peak_bytes: int


def run_job(
    script: str, *arguments: object, python: str = sys.executable, watch_memory: bool = False
) -> Outcome:
    """Run a script of `jobs/` to its end."""
    command = [python, str(JOBS / script), *map(str, arguments)]
    begun = time.time()
    process = subprocess.Popen(
        [*command, str(begun)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    peak = PeakMemory(process.pid)
    if watch_memory:
        peak.start()
    said, complaint = process.communicate()
    seconds = time.time() - begun
    if process.returncode:
        raise JobFailedError(script, complaint)
    return Outcome(json.loads(said.splitlines()[-1]), seconds, peak.stop())


class PeakMemory:
    """The most memory that a process and all below it held at once.

    Pages that several of them share count once (proportional set size), where the system tells.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._peak = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> int:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            try:
                tree = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:
                return
            self._peak = max(self._peak, sum(map(_memory_of, tree)))


def _memory_of(process: psutil.Process) -> int:
    try:
        held = process.memory_full_info()
    except psutil.Error:  # it has just ended
        return 0
    return int(getattr(held, "pss", held.rss))


def in_turns(
    jobs: Mapping[str, Callable[[], float]], rounds: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The median of each, and all that was measured: A B A B …, so that a slow minute hits both."""
    measured: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            measured[name].append(job())
    return {name: median(values) for name, values in measured.items()}, measured
