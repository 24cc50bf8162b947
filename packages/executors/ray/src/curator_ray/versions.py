"""Versions: Python, Ray and our packages, compared between this process and every node."""

from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from typing import Any

from curator_ray import probing
from curator_ray.errors import ClusterError
from curator_ray.facts import ClusterFacts, NodeFacts
from curator_ray.probing import look_around

_PATIENCE_S = 60.0
_NEEDED = ("curator-core", "curator-ray")


def our_packages() -> tuple[str, ...]:
    """Ray, and every package of ours that is installed here."""
    names = {str(found.metadata["Name"]).lower().replace("_", "-") for found in distributions()}
    return ("ray", *sorted(name for name in names if name.startswith("curator-")))


def ask(nodes: Iterable[NodeFacts]) -> dict[str, dict[str, Any]]:
    """What each node says about itself, by node id. Those that leave meanwhile say nothing."""
    import ray
    from ray import cloudpickle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cloudpickle.register_pickle_by_value(probing)  # type: ignore[no-untyped-call]
    try:
        question = ray.remote(num_cpus=0, max_retries=1)(look_around)
        packages = our_packages()
        asked = {}
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
            answer = question.options(scheduling_strategy=there).remote(packages)
            asked[answer] = node.node_id
    finally:
        cloudpickle.unregister_pickle_by_value(probing)  # type: ignore[no-untyped-call]
    ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE_S)
    answers = {}
    for answer in ready:
        try:
            answers[asked[answer]] = ray.get(answer)
        except ray.exceptions.RayError:
            continue  # the node has left; or it cannot run anything, which its workers will say
    return answers


def examine(cluster: ClusterFacts, nodes: Iterable[NodeFacts]) -> dict[str, float]:
    """Compare versions on these nodes; the memory of their GPUs in GB, by node id."""
    answers = ask(nodes)
    here = look_around(our_packages())["versions"]
    refuse_differences(here, {_name(cluster, key): a["versions"] for key, a in answers.items()})
    return {key: min(a["gpu_memory_gb"]) for key, a in answers.items() if a["gpu_memory_gb"]}


def _name(cluster: ClusterFacts, node_id: str) -> str:
    node = cluster.node(node_id)
    return node.name if node else node_id


def refuse_differences(here: Mapping[str, str], there: Mapping[str, Mapping[str, str]]) -> None:
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
