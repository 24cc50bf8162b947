"""Runs through Ray's client have the same outputs, counts and records as others."""

import gc
import json
import socket
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from curator_ray.cluster.join import is_client_server
from curator_ray.cluster.settings import environment, quiet_ray
from waitkit import eventually

RUNS = """
import json, os
from pathlib import Path
from curator_core import Pipeline, ProcessingStage, RunResult, Task
from curator_core.plugins.registry import plugins
from curator_ray.cluster.connection import connected

class Halves(ProcessingStage[Task, Task]):
    def __init__(self, crashed):
        self.crashed = crashed
    def process(self, task):
        print("half of", task.data)
        if task.data == 13:
            raise ValueError("unlucky")
        if task.data == 8 and not os.path.exists(self.crashed):
            Path(self.crashed).touch()
            os._exit(1)
        return [task.with_data(task.data / 2)] * 2 if task.data % 2 == 0 else None

class Mine(Task):
    pass

def facts_of(name, folder):
    pipeline = Pipeline(name, stages=[Halves(f"{folder}/{name}-crashed")], on_error="quarantine")
    tasks = [Mine(number) for number in range(100)]
    result = pipeline.run(plugins().executors.load(name)(), tasks=tasks, run_dir=f"{folder}/{name}")
    counts = result.stages["halves"]
    logs = [log.read_text() for log in Path(folder, name, "logs").iterdir()]
    events = map(json.loads, Path(folder, name, "events.jsonl").read_text().splitlines())
    return {
        "outputs": sorted(task.data for task in result if type(task) is Mine),
        "counts": [counts.tasks_in, counts.tasks_out, counts.tasks_dropped, counts.tasks_failed],
        "done": [result.status, result.sources_done, result.sources_skipped],
        "quarantined": [record.task_id for record in result.quarantined],
        "printed": len({line for log in logs for line in log.splitlines() if "half of" in line}),
        "restarts": sum(result.worker_restarts.values()),
        "connected": [e["address"] for e in events if e["event"] == "connected"],
    }

with connected() as connection:
    assert connection.is_client
    for name in os.environ["NAMES"].split():
        for _ in range(2):
            print(json.dumps(facts_of(name, os.environ["FOLDER"])), flush=True)
"""

OPENS = """
from curator_core import Pipeline, ProcessingStage, Task
from curator_ray.errors import ClusterError
from curator_streaming.executor import StreamingExecutor

class Same(ProcessingStage[Task, Task]):
    def process(self, task):
        return task

try:
    StreamingExecutor().open(Pipeline("p", stages=[Same()]))
except ClusterError as error:
    print(error)
"""

EXPECTED = {
    "outputs": sorted(number / 2 for number in range(0, 100, 2) for _ in range(2)),
    "counts": [100, 100, 49, 1],
    "done": ["done", 100, 0],
    "printed": 100,
    "restarts": 1,
}


@pytest.fixture(scope="module")
def address(cluster: Any) -> str:
    """The address of a client server, as `ray start` starts one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    head = cluster.head_node
    head._ray_params.ray_client_server_port = port
    # It forks while its threads run, and gRPC's support for that kills some of the forks.
    with environment({"GRPC_ENABLE_FORK_SUPPORT": "0"}), quiet_ray():
        head.start_ray_client_server()
        gc.collect()  # it does not close its log files
    until = time.monotonic() + 30
    while not is_client_server(f"{head.node_ip_address}:{port}") and time.monotonic() < until:
        time.sleep(0.05)
    return f"ray://{head.node_ip_address}:{port}"


def installed(*names: str) -> str:
    return " ".join(name for name in names if find_spec(f"curator_{name}"))


def check(driver: Any, address: str, names: str) -> None:
    output, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors
    facts = [json.loads(line) for line in output.splitlines()]
    assert len(facts) == 2 * len(names.split())
    for first, again in zip(facts[::2], facts[1::2], strict=True):
        assert {name: first[name] for name in EXPECTED} == EXPECTED
        assert first["connected"] == [address]
        assert len(first["quarantined"]) == 1
        assert again["outputs"] == []
        assert again["done"] == ["done", 0, 100]


@pytest.mark.parametrize(
    "names",
    [
        installed("streaming", "actor_pool"),
        pytest.param(installed("ray_data"), marks=pytest.mark.soak),  # takes as long again
    ],
)
def test_runs_are_the_same_as_on_any_cluster(
    names: str, address: str, script: Any, tmp_path: Path
) -> None:
    """With a crash, a failure, classes of the script, and resuming; no actor is left behind."""
    from ray._private.state import actors

    driver = script(RUNS, RAY_ADDRESS=address, NAMES=names, FOLDER=str(tmp_path))
    check(driver, address, names)
    # Named actors are Ray Data's own, which it leaves on every cluster.
    ours = [one for one in actors().values() if not one["Name"]]
    assert ours
    assert eventually(lambda: all(actors(one["ActorID"])["State"] == "DEAD" for one in ours))


def test_a_pipeline_cannot_be_served(address: str, script: Any) -> None:
    output, _ = script(OPENS, RAY_ADDRESS=address).communicate(timeout=180)
    assert output.startswith(f"no pipeline can be served through {address}; do it on a machine of")
