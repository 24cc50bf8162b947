"""What the run's folder says about workers; it never leads to killing other processes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from curator_ray.worker.status_files import ProcessIdentity
from curator_ray_data.run_folder import find_dead, find_working, kill_workers

PRINT_IDENTITY = """
import json, sys
from dataclasses import asdict
from curator_ray.worker.status_files import ProcessIdentity
print(json.dumps(asdict(ProcessIdentity.own())), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", PRINT_IDENTITY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.communicate()


def write_post(folder: Path, worker_id: str, process: ProcessIdentity) -> None:
    (folder / "node").mkdir(exist_ok=True)
    facts = {"pid": process.pid, "born": process.born, "output": [], "memory_kills": [0, 0]}
    (folder / "node" / f"{worker_id}.json").write_text(json.dumps(facts))


def test_kills_remaining_workers_but_no_process_that_reuses_a_pid(
    other: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert other.stdout is not None
    process = ProcessIdentity(**json.loads(other.stdout.readline()))
    if not process.born:
        pytest.skip("this system does not say when a process started")
    write_post(tmp_path, "actor-1", replace(process, born="1"))
    assert find_working(str(tmp_path)) == []
    kill_workers(str(tmp_path))
    assert other.poll() is None

    write_post(tmp_path, "actor-1", process)
    assert find_working(str(tmp_path)) == [process.pid]
    kill_workers(str(tmp_path))
    assert other.wait(60) == -9


def test_dead_workers_are_found_once(other: "subprocess.Popen[str]", tmp_path: Path) -> None:
    assert other.stdout is not None
    process = ProcessIdentity(**json.loads(other.stdout.readline()))
    write_post(tmp_path, "actor-1", process)
    other.kill()
    other.wait()
    (tmp_path / "node" / "actor-1.status").write_bytes(bytes(1 << 16))
    (tmp_path / "node" / "actor-1.trace").write_text("left with os._exit(3)\n")
    [(worker_id, words)] = find_dead(str(tmp_path))
    assert (worker_id, words.trace) == ("actor-1", "left with os._exit(3)\n")
    assert find_dead(str(tmp_path)) == []
