"""A job as a user would write it, with something nasty in the middle:

    python job.py FOLDER [--workers N] [--nasty NAME] [--work-s SECONDS] [--timeout-s SECONDS]

Reads in/*.jsonl, writes out/. Prints its account as JSON; leaves with the exit code of its error.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from curator_core import (
    CuratorError,
    DocumentBatch,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    RunInterrupted,
    WorkerInfo,
)
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter


class Work(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Is slow."""

    def __init__(self, work_s: float) -> None:
        self.work_s = work_s

    def process(self, task: DocumentBatch) -> DocumentBatch:
        with open(
            Path(os.environ["JOB_FOLDER"], f"{self.name}.begun"), "ab", buffering=0
        ) as start_task:
            start_task.write(b".")
        time.sleep(self.work_s)
        return task


class Work2(Work):
    """A second stage to be killed in."""


class Poison(Work):
    """One record kills its worker every time."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        if "poison" in task.data.column("text").to_pylist():
            os.kill(os.getpid(), signal.SIGKILL)
        return task


class Stubborn(Work):
    """Hangs in C, where signal handlers of Python do not run."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        touch("stuck")
        re.match(r"(a+)+$", "a" * 40 + "b")
        return task


class Parent(Work):
    """Starts processes inside and outside of its group, and does not end them."""

    def setup(self, worker: WorkerInfo) -> None:
        for alone in (False, True):
            subprocess.Popen(["sleep", "600"], start_new_session=alone)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        touch("stuck")
        return super().process(task)


class Lingering(Work):
    """Its teardown never ends."""

    def teardown(self) -> None:
        time.sleep(600)


class Greedy(Work):
    """Allocates more memory than its limit."""

    def setup(self, worker: WorkerInfo) -> None:
        import resource

        there = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (there + (256 << 20),) * 2)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        if "poison" in task.data.column("text").to_pylist():
            bytearray(1 << 30)
        return task


class Hungry(Work):
    """Allocates memory until the system kills it, because the memory of its group is limited."""

    def setup(self, worker: WorkerInfo) -> None:
        Path(os.environ["JOB_CGROUP"], "cgroup.procs").write_text(str(os.getpid()))

    def process(self, task: DocumentBatch) -> DocumentBatch:
        if "poison" in task.data.column("text").to_pylist():
            bytearray(b"x") * (1 << 30)
        return task


class Sleeper(Work):
    """The first process that gets the poison sleeps, after it wrote its id to a file."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        held = Path(os.environ["JOB_FOLDER"], "held")
        if "poison" in task.data.column("text").to_pylist() and not held.exists():
            held.write_text(str(os.getpid()))
            time.sleep(1)
        return task


class Filling(Work):
    """The first process that gets the poison fills the disk of the output."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        filled = Path(os.environ["JOB_FOLDER"], "filled")
        if "poison" in task.data.column("text").to_pylist() and not filled.exists():
            filled.touch()
            fill_disk(filled.parent / "out")
        return task


NASTY = {
    kind.__name__.lower(): kind
    for kind in (Poison, Stubborn, Parent, Lingering, Greedy, Hungry, Sleeper, Filling)
}


def fill_disk(folder: Path) -> Path:
    """Fill the disk of a folder with a file."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        for size in (1 << 20, 1 << 10, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    return filler


def touch(name: str) -> None:
    Path(os.environ["JOB_FOLDER"], name).touch()


def pipeline(folder: Path, options: argparse.Namespace) -> Pipeline:
    nasty = [NASTY[options.nasty](options.work_s)] if options.nasty else []
    # No other stage has a limit: under load any of them takes longer now and then.
    nasty = [stage.with_(timeout_s=options.timeout_s) for stage in nasty]
    stages = [
        JsonlReader(str(folder / "in")),
        Work(options.work_s),
        *nasty,
        Work2(options.work_s),
        JsonlWriter(str(folder / "out")),
    ]
    return Pipeline("job", stages=stages, max_failures=options.max_failures)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--nasty", choices=sorted(NASTY))
    parser.add_argument("--work-s", type=float, default=0.0)
    parser.add_argument("--timeout-s", type=float)
    parser.add_argument("--max-failures", type=int)
    options = parser.parse_args()
    os.environ["JOB_FOLDER"] = str(options.folder)
    try:
        result = pipeline(options.folder, options).run(LocalExecutor(workers=options.workers))
    except (CuratorError, RunInterrupted) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    account: dict[str, Any] = result.to_json()
    account["reasons"] = [record.reason for record in result.quarantined]
    print(json.dumps(account))
    return 0


if __name__ == "__main__":
    sys.exit(main())
