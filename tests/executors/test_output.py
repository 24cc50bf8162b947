"""What stages print in workers of a cluster is kept with the run, however much it is."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from clusterkit import two_cpus
from curator_actor_pool import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, Task, WorkerInfo
from curator_ray_data import RayDataExecutor
from curator_streaming import StreamingExecutor

LINE = "x" * 1023
MUCH = 10


class Prints(ProcessingStage[Task[int], Task[int]]):
    """Prints a megabyte for each task, in ways of all kinds; dies once of the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def setup(self, worker: WorkerInfo) -> None:
        print("set up")

    def process(self, task: Task[int]) -> Task[int]:
        print(f"number {task.data}\n" + f"{LINE}\n" * 1024, end="")
        print(f"error {task.data}", file=sys.stderr)
        os.system(f"echo child {task.data}")
        dead = self.folder / "dead"
        if task.data == MUCH - 1 and not dead.exists():
            dead.touch()
            print("last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return task


@pytest.fixture(autouse=True)
def private_ray(one_ray: Any) -> None:
    one_ray.use(two_cpus, Path(__file__).parent)


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_it_is_kept_in_the_run_directory_and_not_on_the_terminal(
    executor: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pipeline = Pipeline("prints", stages=[Prints(tmp_path)])
    result = pipeline.run(executor(), [Task(n) for n in range(MUCH)], run_dir=tmp_path / "run")
    assert len(result) == MUCH
    logs = [path.read_text() for path in (tmp_path / "run" / "logs").iterdir()]
    assert len(logs) >= 2
    lines = [line for log in logs for line in log.splitlines()]
    assert lines.count(LINE) >= MUCH * 1024
    said = {line for line in lines if line != LINE}
    of_each = {f"{kind} {n}" for kind in ("number", "error", "child") for n in range(MUCH)}
    assert said == {"set up", "last words", *of_each}
    out, err = capfd.readouterr()
    assert "number" not in out + err
