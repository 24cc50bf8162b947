"""A stage that does not end holds no run up that was asked to stop."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from clusterkit import two_cpus
from curator_actor_pool import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, RunInterrupted, Task
from curator_core.plan import stop_request
from curator_core.testing.contract.jobs import wait_until
from curator_ray_data import RayDataExecutor
from curator_streaming import StreamingExecutor

PATIENCE = {
    StreamingExecutor: {
        "curator_streaming.engine.driver": ["FORCED_STOP_S", "LAST_TEARDOWN_TIMEOUT_S"],
        "curator_streaming.engine.workers": ["FORCED_STOP_S", "TEARDOWN_TIMEOUT_S"],
    },
    RayActorPoolExecutor: {
        "curator_actor_pool.driver": ["FORCED_STOP_S", "ABORTED_TEARDOWN_S"],
        "curator_actor_pool.pools": ["_TEARDOWN_S"],
    },
    RayDataExecutor: {
        "curator_ray_data.driver": ["FORCED_STOP_S", "_ABORTED_TEARDOWN_S", "_TEARDOWN_S"],
    },
}
"""The time limits for stopping workers, in a normal end and in a forced one."""


class Endless(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        Path(task.data).touch()
        time.sleep(600)
        return task


class Terminates(ProcessingStage[Task[Any], Task[Any]]):
    """Starts a process, and ends it by SIGTERM."""

    def process(self, task: Task[Any]) -> Task[Any]:
        started = subprocess.Popen(["sleep", "600"])
        started.terminate()
        try:
            return task.with_data(started.wait(60))
        finally:
            started.kill()


@pytest.fixture(autouse=True)
def private_ray(one_ray: Any) -> None:
    one_ray.use(two_cpus, Path(__file__).parent)


@pytest.mark.parametrize("environment", [None, {"env_vars": {"OWN": "1"}}], ids=["forked", "own"])
def test_processes_that_stages_start_get_sigterm(environment: Any) -> None:
    """Those of Ray do not: the driver ends them."""
    stage = Terminates().with_(runtime_env=environment)
    [output] = Pipeline("terminates", stages=[stage]).run(StreamingExecutor(), [Task(0)])
    assert output.data == -signal.SIGTERM


@pytest.mark.parametrize("executor", PATIENCE)
def test_work_that_does_not_end_is_broken_off(
    executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_request, "DRAIN_AFTER_SIGTERM_S", 0.1)
    for module, names in PATIENCE[executor].items():
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", 0.1 if name == "FORCED_STOP_S" else 600.0)
    begun = tmp_path / "begun"

    def ask() -> None:
        wait_until(begun.exists)
        os.kill(os.getpid(), signal.SIGTERM)

    asker = threading.Thread(target=ask)
    asker.start()
    with pytest.raises(RunInterrupted) as caught:
        Pipeline("endless", stages=[Endless()]).run(executor(), [Task(str(begun))])
    asker.join()
    assert caught.value.exit_code == 128 + signal.SIGTERM
