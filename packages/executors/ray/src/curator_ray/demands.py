"""Demands: what stages want, in the words of Ray, and whether any node has it."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

from curator_core import Plan, PlannedStage, Resources

from curator_ray.facts import GPU_MEMORY_LABEL, ClusterFacts, NodeFacts

_GRAIN = 10_000
"""Ray counts in ten-thousandths."""

_WAY_OUT = "set its resources to what there is, or join a cluster that has it (RAY_ADDRESS)"


def gpu_share(wanted_gb: float, device_gb: float) -> float:
    """The share of one device that holds so much memory: rounded up, never zero."""
    return max(1, ceil(wanted_gb / device_gb * _GRAIN - 1e-9)) / _GRAIN


def gpus_on(resources: Resources, node: NodeFacts) -> float | None:
    """How many GPUs of this very node that is; None where its devices are too small or unknown."""
    if not resources.gpu_memory_gb:
        return resources.gpus
    if not node.gpu_memory_gb or resources.gpu_memory_gb > node.gpu_memory_gb:
        return None
    return gpu_share(resources.gpu_memory_gb, node.gpu_memory_gb)


def ray_options(resources: Resources, node: NodeFacts | None = None) -> dict[str, Any]:
    """Options for an actor with these resources: anywhere, or on `node`.

    A share of a device by its memory is only right on the node that it was worked out for, so
    there `node` must be given.
    """
    if resources.gpu_memory_gb and node is None:
        raise ValueError(
            "gpu_memory_gb is a share of a device, and devices differ: say on which node"
        )
    gpus = gpus_on(resources, node) if node is not None else resources.gpus
    if gpus is None:
        raise ValueError(f"no GPU of this node has {resources.gpu_memory_gb:g} GB: {node}")
    options: dict[str, Any] = {"num_cpus": _grained(resources.cpus), "num_gpus": _grained(gpus)}
    if resources.memory_gb:
        options["memory"] = int(resources.memory_gb * 1e9)
    if resources.custom:
        options["resources"] = {name: _grained(n) for name, n in resources.custom.items() if n}
    if node is not None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
    return options


def room_on(resources: Resources, node: NodeFacts) -> int | None:
    """How many workers of this size an idle node holds; None where nothing limits them."""
    gpus = gpus_on(resources, node)
    if gpus is None:
        return 0
    pairs = [
        (resources.cpus, node.cpus),
        (resources.memory_gb, node.memory_gb),
        *((amount, node.custom.get(name, 0.0)) for name, amount in resources.custom.items()),
    ]
    limits = [int(there / wanted + 1e-9) for wanted, there in pairs if wanted]
    if gpus:  # a worker gets a share of one device, or several whole ones
        limits.append(int(node.gpus) * int(1 / gpus + 1e-9) if gpus <= 1 else int(node.gpus / gpus))
    return min(limits, default=None)


def unmet_demands(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """What the stages ask for and no node has, each with what there is and a way out."""
    for planned in plan.stages:
        at = f"stage {planned.index + 1} {planned.name!r}"
        problem = _problem(planned.resources, cluster) or _too_many_workers(planned, cluster)
        if problem:
            yield f"{at} {problem}; the cluster has {cluster.describe()}; {_WAY_OUT}"


def _problem(wanted: Resources, cluster: ClusterFacts) -> str | None:
    if wanted.gpus > 1 and wanted.gpus != int(wanted.gpus):
        return f"asks for {wanted.gpus:g} GPU, but more than one must be a whole number"
    nodes = cluster.nodes
    measures: list[tuple[str, float, Callable[[NodeFacts], float]]] = [
        (" CPU", wanted.cpus, lambda node: node.cpus),
        (" GPU", wanted.gpus or float(wanted.needs_gpu), lambda node: node.gpus),
        (" GB of memory", wanted.memory_gb, lambda node: node.memory_gb),
    ]
    for name, amount in wanted.custom.items():
        measures.append((f" {name}", amount, lambda node, name=name: node.custom.get(name, 0.0)))  # type: ignore[misc]
    for unit, amount, of in measures:
        most = max((of(node) for node in nodes), default=0.0)
        if amount > most:
            most_told = f"at most {most:g}" if most else "none"
            return f"asks for {amount:g}{unit} on one node, but the nodes have {most_told}"
    if wanted.gpu_memory_gb and (problem := _gpu_memory_problem(wanted, nodes)):
        return problem
    if not any(room_on(wanted, node) != 0 for node in nodes):
        parts = [f"{amount:g}{unit}" for unit, amount, _ in measures if amount]
        return f"asks for {' and '.join(parts)} together, but no single node has all of it"
    return None


def _gpu_memory_problem(wanted: Resources, nodes: tuple[NodeFacts, ...]) -> str | None:
    sizes = [node.gpu_memory_gb for node in nodes if node.gpus and node.gpu_memory_gb]
    asked = f"asks for {wanted.gpu_memory_gb:g} GB of a GPU"
    if not sizes:
        return (
            f"{asked}, but how much the GPUs here have is not known; ask with gpus= instead, or "
            f"give the nodes the label {GPU_MEMORY_LABEL}"
        )
    if wanted.gpu_memory_gb > max(sizes):
        return f"{asked}, but the largest one has {max(sizes):.0f} GB"
    return None


def _too_many_workers(planned: PlannedStage, cluster: ClusterFacts) -> str | None:
    """A fixed number of workers that hold devices cannot take turns."""
    wanted = planned.resources
    if not planned.num_workers or not (wanted.needs_gpu or wanted.custom):
        return None
    rooms = [room_on(wanted, node) or 0 for node in cluster.nodes]
    if planned.num_workers <= sum(rooms):
        return None
    return f"asks for {planned.num_workers} workers, but there is room for {sum(rooms)} of its size"


def _grained(amount: float) -> float:
    """Ray refuses what is finer than its grain; nothing that was asked for becomes nothing."""
    return ceil(amount * _GRAIN - 1e-6) / _GRAIN
