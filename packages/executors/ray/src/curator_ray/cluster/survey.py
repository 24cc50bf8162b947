"""Survey a cluster at the start of a run, and nodes that join later."""

import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from typing import Any

from curator_ray.cluster.connection import Connection
from curator_ray.cluster.nodes import ClusterFacts, ClusterMonitor, NodeChanges, NodeFacts
from curator_ray.errors import ClusterError

_EXAMINED: dict[str, float] = {}
"""Nodes that this process has asked before, and the memory of their GPUs (0 where unknown)."""


class Survey:
    """What is known of the cluster that this process is connected to.

    Every node is asked once for its versions (an error where they do not fit) and its GPUs; a
    private cluster runs what we run, so it is not asked.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._monitor = ClusterMonitor(_EXAMINED)
        self._examine(self.facts.nodes)

    @property
    def facts(self) -> ClusterFacts:
        return self._monitor.facts

    @property
    def spans_machines(self) -> bool:
        """Whether workers may be on machines that do not have our files."""
        return self.facts.spans_machines

    @property
    def is_exclusive(self) -> bool:
        """Whether nobody else uses this cluster."""
        return self._connection.kind == "private"

    def changes(self) -> NodeChanges:
        """Which nodes joined and left since the last time; those that joined are asked first."""
        changes = self._monitor.changes()
        self._examine(changes.joined)
        joined = tuple(self.facts.node(node.node_id) or node for node in changes.joined)
        return NodeChanges(joined, changes.left)

    def _examine(self, nodes: Iterable[NodeFacts]) -> None:
        new = [node for node in nodes if node.node_id not in _EXAMINED]
        if not new:
            return
        if self._connection.kind == "private":
            memory = {}
            if any(node.gpus for node in new) and (
                found := describe_this_node(())["gpu_memory_gb"]
            ):
                memory = {node.node_id: min(found) for node in new}
        else:
            memory = check_nodes(self.facts, new)
        _EXAMINED.update({node.node_id: memory.get(node.node_id, 0.0) for node in new})
        self._monitor.set_gpu_memory(memory)


_PATIENCE_S = 60.0
_NEEDED = ("curator-core", "curator-ray")


def compared_packages() -> tuple[str, ...]:
    """Ray, and every package of ours that is installed here."""
    names = {str(found.metadata["Name"]).lower().replace("_", "-") for found in distributions()}
    return ("ray", *sorted(name for name in names if name.startswith("curator-")))


def ask_nodes(nodes: Iterable[NodeFacts]) -> dict[str, dict[str, Any]]:
    """What each node says about itself, by node id. Those that leave meanwhile say nothing."""
    import ray
    from ray import cloudpickle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    try:
        question = ray.remote(num_cpus=0, max_retries=1)(describe_this_node)
        packages = compared_packages()
        asked = {}
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
            answer = question.options(scheduling_strategy=there).remote(packages)
            asked[answer] = node.node_id
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE_S)
    answers = {}
    for answer in ready:
        try:
            answers[asked[answer]] = ray.get(answer)
        except ray.exceptions.RayError:
            continue  # the node has left; or it cannot run anything, which its workers will say
    return answers


def check_nodes(cluster: ClusterFacts, nodes: Iterable[NodeFacts]) -> dict[str, float]:
    """Compare versions on these nodes; the memory of their GPUs in GB, by node id."""
    answers = ask_nodes(nodes)
    here = describe_this_node(compared_packages())["versions"]
    check_versions(here, {_name(cluster, key): a["versions"] for key, a in answers.items()})
    return {key: min(a["gpu_memory_gb"]) for key, a in answers.items() if a["gpu_memory_gb"]}


def _name(cluster: ClusterFacts, node_id: str) -> str:
    node = cluster.node(node_id)
    return node.name if node else node_id


def check_versions(here: Mapping[str, str], there: Mapping[str, Mapping[str, str]]) -> None:
    """One error that names every difference, with the nodes that have it."""
    found: dict[str, list[str]] = {}
    for node, versions in there.items():
        for name, mine in here.items():
            theirs = versions.get(name, "")
            if _differ(name, mine, theirs):
                told = f"{name} {mine} here, {theirs or 'not installed'} on"
                found.setdefault(told, []).append(node)
    if found:
        lines = [f"{told} {_counted(nodes)}" for told, nodes in sorted(found.items())]
        raise ClusterError(
            "this process and the cluster do not run the same versions: "
            + "; ".join(lines)
            + ". Install the same on every node, or start from an environment like theirs"
        )


def _differ(name: str, mine: str, theirs: str) -> bool:
    if not theirs:
        return name in _NEEDED
    if name == "python":
        return mine.split(".")[:2] != theirs.split(".")[:2]
    return mine != theirs


def _counted(nodes: list[str]) -> str:
    more = f" and {len(nodes) - 3} more nodes" if len(nodes) > 3 else ""
    return ", ".join(nodes[:3]) + more


def describe_this_node(packages: tuple[str, ...]) -> dict[str, Any]:
    """The versions that this node runs, and the memory of its GPUs in GB."""
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    return {"versions": versions, "gpu_memory_gb": _gpu_memory_gb(), "executable": sys.executable}


def _gpu_memory_gb() -> list[float]:
    import subprocess

    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return [float(line) * 1024 * 1024 / 1e9 for line in told.stdout.split("\n") if line.strip()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
