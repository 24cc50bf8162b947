"""What all executors on Ray find out before Ray is imported, and how they connect."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def output_of(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=180
    ).stdout


def test_an_unconnected_process_does_not_import_ray() -> None:
    program = """
import sys
from curator_ray.cluster.connection import is_initialized
print(is_initialized(), "ray" in sys.modules)
"""
    assert output_of(program) == "False False\n"


def test_another_thread_may_import_ray_at_the_same_time() -> None:
    program = """
import threading
from curator_ray.cluster.connection import is_initialized
thread = threading.Thread(target=__import__, args=["ray"])
thread.start()
while thread.is_alive():
    assert not is_initialized()
"""
    assert output_of(program) == ""


def test_a_folder_named_ray_is_not_ray(tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    program = f"""
import sys
from curator_ray.executor import is_ray_installed
print(is_ray_installed())
sys.path[:] = [{str(tmp_path)!r}]
print(is_ray_installed())
"""
    assert output_of(program) == "True\nFalse\n"


SESSION = """
import os
from types import SimpleNamespace
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.local.executor import run_in_process
from curator_ray.cluster.connection import is_initialized
from curator_ray.executor import RayExecutor

class Same(ProcessingStage[Task, Task]):
    def process(self, task):
        return task

class WithoutWorkers(RayExecutor):
    options = SimpleNamespace(address=None, object_store_gb=0.1)

    def outputs(self, plan, run, connection, survey):
        used.append(connection)
        yield from run_in_process(plan, run)

used = []
executor = WithoutWorkers()
with executor.session():
    print("before:", is_initialized())
    for _ in range(2):
        Pipeline(stages=[Same()]).run(executor, [Task(1)], progress=False)
        print("kept:", is_initialized())
first, second = used
print(first.kind, first == second)
print("after:", is_initialized(), os.path.exists(first.folder))
"""


def test_the_pipelines_of_a_session_share_a_private_cluster(script: Any) -> None:
    output, errors = script(SESSION).communicate(timeout=180)
    assert (output.splitlines(), errors) == (
        ["before: False", "kept: True", "kept: True", "private True", "after: False False"],
        "",
    )
