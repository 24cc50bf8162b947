"""Jobs in their own processes: how to start and kill them, and what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
from waitkit import eventually

JOB = Path(__file__).parent / "job.py"
MARK = "CURATOR_TEST"
CLOCK = (1_700_000_000, 1_700_000_000)


def write_records(folder: Path, files: int, records: int, poison: tuple[int, ...] = ()) -> None:
    """Write files of numbered records with a fixed age; some records are poison."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / "in" / f"{number:05}.jsonl"
        numbers = range(number * records, (number + 1) * records)
        lines = [{"id": n, "text": "poison" if n in poison else f"text {n}"} for n in numbers]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, CLOCK)


def record_ids(out: Path) -> list[int]:
    """Return the ids of all published records, in order."""
    lines = [line for path in out.glob("part-*") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["id"] for line in lines)


class Job:
    """One run of `job.py`, and everything that it starts."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.mark = uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, str(JOB), str(folder), *map(str, arguments)],
            env={**os.environ, MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.out = self.err = ""

    def wait(self, timeout: float = 60.0) -> int:
        self.out, self.err = self.process.communicate(timeout=timeout)
        return self.process.returncode

    def account(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.out.strip().splitlines()[-1])
        return facts

    def processes(self) -> list[psutil.Process]:
        """All processes with the job's mark, wherever they are."""
        return [process for process in psutil.process_iter() if self._is_mine(process)]

    def workers(self) -> list[psutil.Process]:
        return [p for p in self.processes() if "curator_core.local.worker_main" in _command(p)]

    def kill_all(self) -> None:
        """Kill the whole tree, until no process is left."""
        while mine := self.processes():
            for process in mine:
                _send(process, signal.SIGKILL)
            time.sleep(0.005)

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def ends_within(self, seconds: float) -> bool:
        return eventually(lambda: not self.processes(), seconds)

    def _is_mine(self, process: psutil.Process) -> bool:
        try:
            environment = process.environ()
            return environment.get(MARK) == self.mark and process.status() != "zombie"
        except (psutil.Error, OSError):
            return False


@contextmanager
def started(folder: Path, *arguments: object) -> Iterator[Job]:
    """A job that leaves no process behind, however the test ends."""
    job = Job(folder, *arguments)
    try:
        yield job
    finally:
        job.kill_all()
        if not job.process.stdout.closed:  # type: ignore[union-attr]
            job.process.communicate()


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _send(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)
