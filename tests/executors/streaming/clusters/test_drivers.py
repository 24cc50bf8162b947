"""Drivers that are interrupted or killed: nothing stays behind, and the run can be resumed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from clusterkit import Grid
from curator_core.testing.contract.logs import Event, read_log
from waitkit import eventually

DRIVER = Path(__file__).parent / "driver.py"
MARK = "CURATOR_TEST"


class Job:
    """A driver process, and all processes with its mark."""

    def __init__(
        self,
        folder: Path,
        count: int,
        seconds: float,
        *,
        is_stubborn: bool = False,
        **environment: str,
    ) -> None:
        self.folder = folder
        self.mark = uuid4().hex
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(DRIVER),
                str(folder),
                str(count),
                str(seconds),
                *["stubborn"] * is_stubborn,
            ],
            env={**inherited, MARK: self.mark, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.out = self.err = ""

    def wait(self, seconds: float = 180) -> int:
        self.out, self.err = self.process.communicate(timeout=seconds)
        return self.process.returncode

    def events(self, kind: str) -> list[Event]:
        return [event for event in read_log(self.folder / "log") if event.kind == kind]

    def has_done(self, number: int) -> bool:
        return len(self.events("done")) >= number or self.process.poll() is not None

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                has_mark = process.environ().get(MARK) == self.mark
                if has_mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found


Start = Callable[..., Job]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Job] = []

    def start_job(**options: Any) -> Job:
        started.append(Job(tmp_path, **options))
        return started[-1]

    yield start_job
    for job in started:
        while left := job.processes():
            for process in left:
                process.kill()
            time.sleep(0.02)
        if job.process.stdout and not job.process.stdout.closed:
            job.process.communicate()


def parts(folder: Path) -> list[int]:
    return sorted(int(path.read_text()) for path in (folder / "out").glob("part-*"))


def hidden(folder: Path) -> list[str]:
    return [p.name for p in (folder / "out").iterdir() if p.name[0] == "." and p.is_file()]


@pytest.mark.soak
class TestOnAPrivateCluster:
    """As in the contract, but with many tasks and all processes checked."""

    def test_ctrl_c_finishes_started_tasks(self, start: Start, tmp_path: Path) -> None:
        job = start(count=400, seconds=0.1)
        assert eventually(lambda: job.has_done(5))
        job.process.send_signal(signal.SIGINT)

        assert job.wait() == 130, job.err
        done = len(job.events("done"))
        assert len(parts(tmp_path)) == done
        assert eventually(lambda: not job.processes())

        again = start(count=400, seconds=0)
        assert again.wait() == 0, again.err
        facts = json.loads(again.out.splitlines()[-1])
        assert (facts["skipped"], facts["done"]) == (done, 400 - done)
        assert parts(tmp_path) == list(range(400))
        assert hidden(tmp_path) == []

    def test_no_process_outlives_a_killed_driver(self, start: Start, tmp_path: Path) -> None:
        job = start(count=100, seconds=0.2)
        assert eventually(lambda: job.has_done(3))
        assert len(job.processes()) > 3
        job.process.kill()

        assert eventually(lambda: not job.processes()), job.processes()
        again = start(count=100, seconds=0)
        assert again.wait() == 0, again.err
        assert parts(tmp_path) == list(range(100))
        assert hidden(tmp_path) == []


def no_worker_is_left(job: Job) -> bool:
    pids = {event.pid for event in job.events("begun")}
    return not any(map(psutil.pid_exists, pids))


class TestOnASharedCluster:
    def test_no_actor_outlives_a_killed_driver(
        self, start: Start, three: Grid, tmp_path: Path
    ) -> None:
        job = start(count=60, seconds=0.2, RAY_ADDRESS=three.address)
        assert eventually(lambda: len({event.pid for event in job.events("begun")}) >= 2)
        job.process.kill()

        assert eventually(lambda: no_worker_is_left(job))
        again = start(count=60, seconds=0, RAY_ADDRESS=three.address)
        assert again.wait() == 0, again.err
        assert parts(tmp_path) == list(range(60))
        assert hidden(tmp_path) == []

    def test_ctrl_c_finishes_started_tasks_and_leaves_the_cluster_alone(
        self, start: Start, three: Grid, tmp_path: Path
    ) -> None:
        job = start(count=200, seconds=0.1, RAY_ADDRESS=three.address)
        assert eventually(lambda: job.has_done(5))
        job.process.send_signal(signal.SIGINT)

        assert job.wait() == 130, job.err
        assert "stopped by SIGINT" in job.err
        assert "run the same command again to resume" in job.err
        begun, done = len(job.events("begun")), len(job.events("done"))
        assert begun == done == len(parts(tmp_path)) < 200
        assert len(job.events("teardown")) == len({event.pid for event in job.events("begun")})
        assert eventually(lambda: no_worker_is_left(job))
        again = start(count=200, seconds=0, RAY_ADDRESS=three.address)
        assert again.wait() == 0, again.err
        assert parts(tmp_path) == list(range(200))

    def test_a_second_ctrl_c_does_not_wait(self, start: Start, three: Grid) -> None:
        job = start(count=20, seconds=60, is_stubborn=True, RAY_ADDRESS=three.address)
        assert eventually(lambda: bool(job.events("begun")))
        job.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        job.process.send_signal(signal.SIGINT)

        assert job.wait() == 130, job.err
        assert "stopped at once" in job.err
        assert eventually(lambda: no_worker_is_left(job))

    def test_no_cluster_at_the_address(self, start: Start) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        job = start(count=4, seconds=0, RAY_ADDRESS=f"127.0.0.1:{port}")

        assert job.wait(30) != 0
        assert f"no Ray cluster answers at 127.0.0.1:{port}" in job.err
        assert "Traceback" not in job.err
