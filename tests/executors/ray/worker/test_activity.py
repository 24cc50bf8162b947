"""What a worker is doing can be read from outside: CPU, I/O, GPU and stack."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from curator_ray.worker import activity as activity_module
from curator_ray.worker.activity import WorkerActivity, read_activities
from curator_ray.worker.status_files import StatusFiles
from waitkit import eventually

pytestmark = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux")

WORKER = """
import sys
from curator_ray.worker.activity import StackDumper
from curator_ray.worker.status_files import StatusFiles, StatusWriter

files = StatusFiles(*sys.argv[1:4])
status, stacks = StatusWriter(files), StackDumper(files)
status.begin(3, (), None)


def wait_here():
    print("ready", flush=True)
    sys.stdin.readline()


def spin_here():
    print("spinning", flush=True)
    while True:
        pass


wait_here()
spin_here()
"""


class Worker:
    def __init__(self, folder: Path) -> None:
        self.files = StatusFiles(str(folder), "node", "7")
        arguments = [sys.executable, "-c", WORKER, str(folder), "node", "7"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=subprocess.DEVNULL, text=True)

    def read(self) -> WorkerActivity:
        [found] = read_activities([self.files], with_stacks=True)
        return found

    def work(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("work\n")
        self.process.stdin.flush()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    started = Worker(tmp_path)
    assert eventually(
        lambda: bool(read_activities([started.files])) and "wait_here" in started.read().stack
    )
    yield started
    started.process.kill()
    started.process.communicate()


def test_a_waiting_worker_is_idle_in_its_stage(worker: Worker) -> None:
    first = worker.read()
    later = replace(worker.read(), at=first.at + 10)

    assert first.stage_index == 3
    assert later.is_idle_since(first, uses_gpu=False)


def test_a_working_worker_is_busy(worker: Worker) -> None:
    first = worker.read()
    worker.work()

    assert eventually(lambda: "spin_here" in worker.read().stack)
    assert eventually(lambda: not worker.read().is_idle_since(first, uses_gpu=False))


def test_a_busy_gpu_counts_for_stages_that_use_one(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = worker.read()
    monkeypatch.setattr(activity_module, "_is_any_gpu_busy", lambda: True)
    later = replace(worker.read(), at=first.at + 10)

    assert not later.is_idle_since(first, uses_gpu=True)
    assert later.is_idle_since(first, uses_gpu=False)


def test_a_worker_that_has_ended_is_left_out(worker: Worker) -> None:
    worker.process.kill()
    worker.process.wait()

    assert read_activities([worker.files]) == []
