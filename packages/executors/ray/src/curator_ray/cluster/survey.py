"""Survey a cluster at the start of a run, and nodes that join later."""

import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.metadata import distributions
from typing import Any

from curator_ray.cluster.autoscaler import find_autoscaler
from curator_ray.cluster.connection import Connection
from curator_ray.cluster.nodes import ClusterFacts, ClusterMonitor, NodeChanges, NodeFacts
from curator_ray.errors import ClusterError

_TIMEOUT_S = 60.0
_NEEDED = ("curator-core", "curator-ray")

_CHECKED: dict[str, float] = {}
"""Nodes that this process has asked, with the memory of their GPUs (0 if unknown)."""


class Survey:
    """The nodes of the cluster that this process is connected to.

    Every node is asked once for its versions, which must match, and for its GPUs. A private
    cluster runs the same versions as this process, so it is not asked.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._monitor = ClusterMonitor(_CHECKED)
        self._check(self.facts.nodes)

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

    @cached_property
    def has_autoscaler(self) -> bool:
        """Whether something starts nodes of this cluster when they are needed."""
        return not self.is_exclusive and find_autoscaler() is not None

    def changes(self) -> NodeChanges:
        """Return the nodes that joined and left since the previous call; check new ones first."""
        changes = self._monitor.changes()
        self._check(changes.joined)
        joined = tuple(self.facts.node(node.node_id) or node for node in changes.joined)
        return NodeChanges(joined, changes.left)

    def _check(self, nodes: Iterable[NodeFacts]) -> None:
        new = [node for node in nodes if node.node_id not in _CHECKED]
        if not new:
            return
        memory = _own_gpu_memory(new) if self.is_exclusive else check_nodes(self.facts, new)
        _CHECKED.update({node.node_id: memory.get(node.node_id, 0.0) for node in new})
        self._monitor.set_gpu_memory(memory)


def _own_gpu_memory(nodes: list[NodeFacts]) -> dict[str, float]:
    sizes = _gpu_memory_gb() if any(node.gpus for node in nodes) else []
    return {node.node_id: min(sizes) for node in nodes} if sizes else {}


def compared_packages() -> tuple[str, ...]:
    """Return Ray and all installed curator packages."""
    names = {str(found.metadata["Name"]).lower().replace("_", "-") for found in distributions()}
    return ("ray", *sorted(name for name in names if name.startswith("curator-")))


def ask_nodes(nodes: Iterable[NodeFacts]) -> dict[str, dict[str, Any]]:
    """Call `describe_this_node` on each node; return the answers by node id.

    Nodes that leave meanwhile are missing. The function is pickled by value, because a node may
    not have this package, or another version of it.
    """
    import ray
    from ray import cloudpickle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    this_module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(this_module)  # type: ignore[no-untyped-call]
    try:
        task = ray.remote(num_cpus=0, max_retries=1)(describe_this_node)
        packages = compared_packages()
        node_ids = {}
        for node in nodes:
            strategy = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
            node_ids[task.options(scheduling_strategy=strategy).remote(packages)] = node.node_id
    finally:
        cloudpickle.unregister_pickle_by_value(this_module)  # type: ignore[no-untyped-call]
    ready, _ = ray.wait(list(node_ids), num_returns=len(node_ids), timeout=_TIMEOUT_S)
    answers = {}
    for ref in ready:
        try:
            answers[node_ids[ref]] = ray.get(ref)
        except ray.exceptions.RayError:
            continue  # the node has left, or can run nothing, which its workers will report
    return answers


def check_nodes(cluster: ClusterFacts, nodes: Iterable[NodeFacts]) -> dict[str, float]:
    """Compare the versions of these nodes with ours; return GPU memory in GB by node id."""
    answers = ask_nodes(nodes)
    here = describe_this_node(compared_packages())["versions"]
    check_versions(here, {_name(cluster, key): a["versions"] for key, a in answers.items()})
    return {key: min(a["gpu_memory_gb"]) for key, a in answers.items() if a["gpu_memory_gb"]}


def _name(cluster: ClusterFacts, node_id: str) -> str:
    node = cluster.node(node_id)
    return node.name if node else node_id


def check_versions(here: Mapping[str, str], there: Mapping[str, Mapping[str, str]]) -> None:
    """Raise one error that names every difference, with the nodes that have it."""
    differences: dict[str, list[str]] = {}
    for node, versions in there.items():
        for name, ours in here.items():
            theirs = versions.get(name, "")
            if _differs(name, ours, theirs):
                difference = f"{name} {ours} here, {theirs or 'not installed'} on"
                differences.setdefault(difference, []).append(node)
    if differences:
        lines = [f"{text} {_name_some(nodes)}" for text, nodes in sorted(differences.items())]
        raise ClusterError(
            "this process and the cluster do not run the same versions: "
            + "; ".join(lines)
            + ". Install the same on every node, or start from an environment like theirs"
        )


def _differs(name: str, ours: str, theirs: str) -> bool:
    if not theirs:
        return name in _NEEDED
    if name == "python":
        return ours.split(".")[:2] != theirs.split(".")[:2]
    return ours != theirs


def _name_some(nodes: list[str]) -> str:
    more = f" and {len(nodes) - 3} more nodes" if len(nodes) > 3 else ""
    return ", ".join(nodes[:3]) + more


def describe_this_node(packages: tuple[str, ...]) -> dict[str, Any]:
    """Return the versions on this node, and the memory of its GPUs in GB.

    Imports are inside, because the function is pickled by value.
    """
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return [float(line) * 1024 * 1024 / 1e9 for line in done.stdout.split("\n") if line.strip()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
