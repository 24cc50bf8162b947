"""Timing: jobs in processes of their own, taken in turns, the median of each."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from compileall import compile_dir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from measuring.trees import TreeWatch

JOBS = Path(__file__).parents[1] / "jobs"
PACKAGES = Path(__file__).parents[2] / "packages"
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
    cpu_s: float = 0.0


def run_job(
    script: str,
    *arguments: object,
    python: str = sys.executable,
    watch_memory: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a script of `jobs/` to its end, with these variables added to the environment.

    The CPU time is that of all processes which the job waited for; one job at a time, please.
    """
    compile_ours()
    command = [python, str(JOBS / script), *map(str, arguments)]
    begun = time.time()
    before = _cpu_of_children()
    process = subprocess.Popen(
        [*command, str(begun)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    watch = TreeWatch(process.pid, every_s=SAMPLE_S, memory=True)
    if watch_memory:
        watch.start()
    said, complaint = process.communicate()
    seconds = time.time() - begun
    watch.stop()
    if process.returncode:
        raise JobFailedError(script, complaint)
    facts = json.loads(said.splitlines()[-1])
    return Outcome(facts, seconds, watch.peak_bytes, _cpu_of_children() - before)


@cache
def compile_ours() -> None:
    """As pip leaves what it installs, peers among it. Else a fresh checkout would compile at each
    start, where Python may not write: a tenth of a second."""
    for folder in PACKAGES.glob("**/src"):
        compile_dir(folder, quiet=2)


def _cpu_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def in_turns(
    jobs: Mapping[str, Callable[[], float]], rounds: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The median of each, and all that was measured: A B A B …, so that a slow minute hits both."""
    measured: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            measured[name].append(job())
    return {name: median(values) for name, values in measured.items()}, measured
