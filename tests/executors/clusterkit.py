"""Stages that tell where they ran, and clusters of several nodes on this machine."""

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from curator_core import (
    Executor,
    NodeInfo,
    Pipeline,
    ProcessingStage,
    RunResult,
    Task,
    WorkerInfo,
)
from curator_core.testing.contract.logs import note, read_log
from waitkit import eventually

Tasks = ProcessingStage[Task[Any], Task[Any]]

FAST_HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 10_000,
    "health_check_failure_threshold": 3,
}
"""A lost node is noticed within a second; a busy one is not mistaken for lost."""

STORE_BYTES = 150_000_000


@dataclass
class Where(Tasks):
    """Adds to each task a line about the worker that it met: node, worker, process, devices."""

    seconds: float = 0.01

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(self.seconds)
        met = Met(
            self.name,
            self._worker.node.node_id,
            self._worker.worker_id,
            os.getpid(),
            os.environ.get("CUDA_VISIBLE_DEVICES", "unset"),
            os.environ.get("CURATOR_TEST_OWN", ""),
            time.time(),
        )
        return task.with_data((*task.data, met) if isinstance(task.data, tuple) else (met,))


@dataclass
class UntilSeen(Where):
    """Takes its time until a task has met a node whose id this file names, and none after that.

    So there is work until a node that joined has had some of it, however long that takes.
    """

    joined: str = ""

    def process(self, task: Task[Any]) -> Task[Any]:
        seen = Path(f"{self.joined}.seen")
        if seen.exists():
            return task.with_data(())
        joined = Path(self.joined)
        if joined.exists() and joined.read_text() == self._worker.node.node_id:
            seen.touch()
        return super().process(task)


@contextmanager
def two_cpus() -> Iterator[None]:
    """Ray on this machine alone, of the size that every machine has."""
    from curator_ray.cluster.connection import connected
    from curator_ray.cluster.private import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield


@dataclass(frozen=True)
class Met:
    stage: str
    node: str
    worker: str
    pid: int
    devices: str
    own: str
    at: float


@dataclass
class Lives(Tasks):
    """Notes its life in a file: setup_on_node, setup and teardown, each with its node."""

    log: str
    seconds: float = 0.01
    _worker: WorkerInfo = field(default=WorkerInfo(), init=False, repr=False)

    def setup_on_node(self, node: NodeInfo) -> None:
        note(self.log, "node", self.name, node.node_id)

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker
        note(self.log, "setup", self.name, f"{worker.node.node_id}/{worker.worker_id}")

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(self.seconds)
        return task

    def teardown(self) -> None:
        worker = self._worker
        note(self.log, "teardown", self.name, f"{worker.node.node_id}/{worker.worker_id}")


def ran(
    stages: Sequence[Any],
    count: int = 40,
    config: dict[str, Any] | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> RunResult:
    """Run `count` numbers through the stages; by default on the streaming executor."""
    if executor is None:
        from curator_streaming.executor import StreamingExecutor

        executor = StreamingExecutor(config=config)
    pipeline = Pipeline("p", stages=list(stages), **options)
    return pipeline.run(executor, tasks=[Task(n) for n in range(count)])


def met(result: RunResult, stage: str) -> list[Met]:
    return [one for task in result for one in task.data if one.stage == stage]


def by(found: Sequence[Met], what: str) -> Counter[Any]:
    return Counter(getattr(one, what) for one in found)


def places(log: Path, kind: str) -> Counter[str]:
    """Count the events of this kind by place: a node, or a worker on one."""
    return Counter(event.place for event in read_log(log) if event.kind == kind)


class Grid:
    """A cluster to which a test adds nodes, and from which it removes them."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.address: str = cluster.address
        self._added: list[Any] = []

    def add(self, **wanted: Any) -> Any:
        from curator_ray.cluster.minimal import minimal_nodes
        from curator_ray.cluster.settings import quiet_ray

        wanted.setdefault("object_store_memory", STORE_BYTES)
        with quiet_ray(), minimal_nodes():
            self._added.append(self.cluster.add_node(**wanted))
        return self._added[-1]

    def kill(self, node: Any) -> None:
        """Like a power loss: no shutdown runs."""
        self._added.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    def lose(self, node: Any) -> None:
        """Kill it, and wait until the cluster has noticed."""
        import ray

        self.kill(node)
        assert eventually(
            lambda: all(one["NodeID"] != node.node_id or not one["Alive"] for one in ray.nodes())
        )

    def settle(self) -> None:
        """Treat all current nodes as permanent."""
        self._added.clear()

    def kill_added(self) -> None:
        """Kill all added nodes, and wait until the cluster has noticed."""
        import ray

        stay = len(self.cluster.list_all_nodes()) - len(self._added)
        for node in list(self._added):
            self.kill(node)
        assert eventually(lambda: sum(node["Alive"] for node in ray.nodes()) == stay)


@contextmanager
def grid(folder: str, *nodes: dict[str, Any]) -> Iterator[Grid]:
    import ray
    from curator_ray.cluster.minimal import minimal_nodes
    from curator_ray.cluster.settings import environment, quiet_ray
    from ray.cluster_utils import Cluster

    with environment({"RAY_TMPDIR": folder}), quiet_ray(), minimal_nodes():
        cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "include_dashboard": False,
                "_system_config": FAST_HEALTH,
                "object_store_memory": STORE_BYTES,
            },
        )
        made = Grid(cluster)
        for wanted in nodes:
            made.add(**wanted)
        made.settle()
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    try:
        yield made
    finally:
        with quiet_ray():
            ray.shutdown()
            cluster.shutdown()


@contextmanager
def autoscaling_cluster(folder: str, cpus: int, **types: dict[str, Any]) -> Iterator[str]:
    """Start a head whose autoscaler starts nodes of these types on this machine; give its address.

    Like `ray.cluster_utils.AutoscalingCluster`, which ends every Ray process of the machine first,
    and needs a file that Ray's wheel does not have.
    """
    address = f"127.0.0.1:{_free_port()}"
    config = Path(folder, "autoscaling.json")
    head = {"resources": {"CPU": cpus}, "node_config": {}, "max_workers": 0}
    config.write_text(json.dumps(_AUTOSCALING | {
        "provider": _AUTOSCALING["provider"] | {"gcs_address": address},
        "available_node_types": {_HEAD_TYPE: head, **types},
    }))  # fmt: skip
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = f"""
        ray start --head --block --port={address.split(":")[1]} --node-ip-address=127.0.0.1
        --num-cpus={cpus} --object-store-memory={STORE_BYTES} --include-dashboard=false
        --disable-usage-stats --autoscaling-config={config}
    """
    log_file = Path(folder, "head.log")
    with log_file.open("w") as log:
        head_process = subprocess.Popen(
            command.split(),
            env={
                **inherited,
                "RAY_TMPDIR": folder,
                "RAY_AUTH_MODE": "disabled",
                "RAY_FAKE_CLUSTER": "1",
                "RAY_enable_autoscaler_v2": "1",
                "RAY_CLOUD_INSTANCE_ID": _HEAD_ID,
                "RAY_OVERRIDE_NODE_ID_FOR_TESTING": _HEAD_ID,
                "AUTOSCALER_UPDATE_INTERVAL_S": "1",
            },
            stdout=log,
            stderr=log,
        )
    try:
        assert eventually(lambda: "Ray runtime started" in log_file.read_text(), 120)
        yield address
    finally:
        while ours := _processes_in(folder):
            for process in ours:
                with suppress(psutil.Error):
                    process.kill()
            time.sleep(0.02)
        head_process.wait()


def _processes_in(folder: str) -> list[psutil.Process]:
    """Return the other processes that have a file of the folder open, such as a log.

    Ray's agents outlive their node here, and Ray overwrites what marks they have.
    """
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            files = process.open_files() if process.pid != os.getpid() else ()
            if any(file.path.startswith(folder) for file in files):
                found.append(process)
    return found


_HEAD_ID = "f" * 51 + "00000"
_HEAD_TYPE = "ray.head.default"
_AUTOSCALING: dict[str, Any] = {
    "cluster_name": "test",
    "max_workers": 8,
    "provider": {
        "type": "external",
        "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
        "launch_multiple": True,
        "head_node_id": _HEAD_ID,
    },
    "head_node_type": _HEAD_TYPE,
    "auth": {},
    "upscaling_speed": 1.0,
    "idle_timeout_minutes": 0.1,
    "docker": {},
    "initialization_commands": [],
    "setup_commands": [],
    "head_setup_commands": [],
    "worker_setup_commands": [],
    "head_start_ray_commands": [],
    "worker_start_ray_commands": [],
    "file_mounts": {},
    "cluster_synced_files": [],
    "file_mounts_sync_continuously": False,
    "rsync_exclude": [],
    "rsync_filter": [],
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def say(*words: object) -> None:
    """Figures of a long test; shown with `pytest -s`, or where it fails."""
    print(*words, file=sys.stdout, flush=True)
