"""What stages need in Ray's terms, and which nodes have it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from curator_core import Plan, PlannedStage, Resources

from curator_ray.cluster.autoscaler import Autoscaler, find_autoscaler, log_once
from curator_ray.cluster.nodes import GPU_MEMORY_LABEL, ClusterFacts, NodeFacts

_UNITS = 10_000
"""Ray counts resources in ten-thousandths."""

_REMEDY = "set its resources to what there is, or join a cluster that has it (RAY_ADDRESS)"


def gpu_share(wanted_gb: float, device_gb: float) -> float:
    """Return the share of a device that has this much memory, rounded up and never zero."""
    return max(1, ceil(wanted_gb / device_gb * _UNITS - 1e-9)) / _UNITS


def gpus_on(resources: Resources, node: NodeFacts) -> float | None:
    """Return the GPUs needed on this node; None if its devices are too small or unknown."""
    if not resources.gpu_memory_gb:
        return resources.gpus
    if not node.gpu_memory_gb or resources.gpu_memory_gb > node.gpu_memory_gb:
        return None
    return gpu_share(resources.gpu_memory_gb, node.gpu_memory_gb)


def actor_options(resources: Resources, node: NodeFacts | None = None) -> dict[str, Any]:
    """Return Ray's options for an actor with these resources: anywhere, or on `node`.

    GPU memory needs a `node`, because it is a different share of each kind of device.
    """
    if resources.gpu_memory_gb and node is None:
        raise ValueError(
            "gpu_memory_gb is a share of a device, and devices differ: say on which node"
        )
    gpus = gpus_on(resources, node) if node is not None else resources.gpus
    if gpus is None:
        raise ValueError(f"no GPU of this node has {resources.gpu_memory_gb:g} GB: {node}")
    options: dict[str, Any] = {"num_cpus": _rounded(resources.cpus), "num_gpus": _rounded(gpus)}
    if resources.memory_gb:
        options["memory"] = int(resources.memory_gb * 1e9)
    if resources.custom:
        options["resources"] = {name: _rounded(n) for name, n in resources.custom.items() if n}
    if node is not None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
    return options


def max_workers_on(resources: Resources, node: NodeFacts) -> int | None:
    """Return how many workers of this size an idle node holds; None if nothing limits them."""
    gpus = gpus_on(resources, node)
    if gpus is None or not _matches(resources, node):
        return 0
    pairs = [
        (resources.cpus, node.cpus),
        (resources.memory_gb, node.memory_gb),
        *((amount, node.custom.get(name, 0.0)) for name, amount in resources.custom.items()),
    ]
    limits = [int(available / wanted + 1e-9) for wanted, available in pairs if wanted]
    if gpus:  # a worker gets a share of one device, or several whole ones
        limits.append(int(node.gpus) * int(1 / gpus + 1e-9) if gpus <= 1 else int(node.gpus / gpus))
    return min(limits, default=None)


def eligible_nodes(
    wanted: Resources,
    nodes: Sequence[NodeFacts],
    with_gpus: Collection[str],
    expected: Iterable[NodeFacts] = (),
) -> list[str]:
    """Return the nodes where a stage may run.

    A stage without GPUs stays off nodes `with_gpus` if another node has room for it, or is
    `expected` in a moment: CPU work must not keep a model waiting.
    """
    fit = _fitting(wanted, nodes)
    if wanted.needs_gpu:
        return fit
    without_gpus = [node_id for node_id in fit if node_id not in with_gpus]
    if without_gpus or set(with_gpus).issuperset(_fitting(wanted, expected)):
        return without_gpus or fit
    return []


def excluded_nodes(wanted: Resources, nodes: Sequence[NodeFacts]) -> list[str]:
    """Return the nodes that a stage has to stay off: all that have GPUs, or none."""
    with_gpus = {node.node_id for node in nodes if node.gpus}
    if wanted.needs_gpu or not with_gpus:
        return []
    eligible = eligible_nodes(wanted, nodes, with_gpus)
    return sorted(with_gpus) if eligible and with_gpus.isdisjoint(eligible) else []


def _matches(resources: Resources, node: NodeFacts) -> bool:
    """Whether a node has the type of GPU and the labels that are asked for."""
    has_type = resources.accelerator in ("", node.accelerator)
    return has_type and all(node.labels.get(k) == v for k, v in resources.labels.items())


def _fitting(wanted: Resources, nodes: Iterable[NodeFacts]) -> list[str]:
    return [node.node_id for node in nodes if max_workers_on(wanted, node) != 0]


def unmet_demands(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """Yield what stages ask for and no node has, with what there is and a way out.

    Where an autoscaler runs, it is enough that it may bring a node that has it.
    """
    for planned in plan.stages:
        wanted = planned.resources
        stage = f"stage {planned.index + 1} {planned.name!r}"
        problem = _impossible(wanted)
        autoscaler = None
        if not problem:
            problem = _problem(wanted, cluster) or _too_many_workers(planned, cluster)
            autoscaler = find_autoscaler() if problem else None
        if not problem:
            continue
        if autoscaler is not None and _can_bring(autoscaler, wanted):
            log_once(f"{stage} {problem}; the autoscaler of the cluster may bring more")
            continue
        available = cluster.describe()
        if autoscaler is not None:
            types = ClusterFacts(autoscaler.types).describe()
            available += f", and its autoscaler brings no node for that (it has {types})"
        yield f"{stage} {problem}; the cluster has {available}; {_REMEDY}"


def _can_bring(autoscaler: Autoscaler, wanted: Resources) -> bool:
    """Whether a node of some type may meet a demand. What is not known counts as met."""
    types = autoscaler.types
    return not types or any(max_workers_on(_comparable(wanted, node), node) != 0 for node in types)


def _comparable(wanted: Resources, node_type: NodeFacts) -> Resources:
    """Leave out what is not known of a node before it starts, such as the size of its GPUs."""
    return replace(
        wanted,
        labels={},
        gpus=wanted.gpus or float(wanted.needs_gpu),
        gpu_memory_gb=0.0,
        memory_gb=wanted.memory_gb if node_type.memory_gb else 0.0,
        accelerator=wanted.accelerator if node_type.accelerator else "",
    )


def _impossible(wanted: Resources) -> str | None:
    if wanted.gpus > 1 and wanted.gpus != int(wanted.gpus):
        return f"asks for {wanted.gpus:g} GPU, but more than one must be a whole number"
    return None


def _problem(wanted: Resources, cluster: ClusterFacts) -> str | None:
    nodes = cluster.nodes
    measures: list[tuple[str, float, Callable[[NodeFacts], float]]] = [
        (" CPU", wanted.cpus, lambda node: node.cpus),
        (" GPU", wanted.gpus or float(wanted.needs_gpu), lambda node: node.gpus),
        (" GB of memory", wanted.memory_gb, lambda node: node.memory_gb),
    ]
    for name, amount in wanted.custom.items():
        measures.append((f" {name}", amount, lambda node, name=name: node.custom.get(name, 0.0)))  # type: ignore[misc]
    for unit, amount, of in measures:
        largest = max((of(node) for node in nodes), default=0.0)
        if amount > largest:
            available = f"at most {largest:g}" if largest else "none"
            return f"asks for {amount:g}{unit} on one node, but the nodes have {available}"
    if wanted.gpu_memory_gb and (problem := _gpu_memory_problem(wanted, nodes)):
        return problem
    if problem := _selection_problem(wanted, nodes):
        return problem
    if not _fitting(wanted, nodes):
        parts = [f"{amount:g}{unit}" for unit, amount, _ in measures if amount]
        return f"asks for {' and '.join(parts)} together, but no single node has all of it"
    return None


def _selection_problem(wanted: Resources, nodes: tuple[NodeFacts, ...]) -> str | None:
    """Describe a type of GPU or a label that no node has."""
    types = sorted({node.accelerator for node in nodes if node.accelerator})
    if wanted.accelerator and wanted.accelerator not in types:
        known = f"the types there are: {', '.join(types)}" if types else "no node names its type"
        return f"asks for a GPU of type {wanted.accelerator}, which no node has ({known})"
    for name, value in wanted.labels.items():
        values = sorted({node.labels[name] for node in nodes if name in node.labels})
        if value not in values:
            known = f"it is {' or '.join(values)} there" if values else "no node has that label"
            return f"asks for nodes with the label {name}={value}, and there are none ({known})"
    if (wanted.accelerator or wanted.labels) and not any(_matches(wanted, node) for node in nodes):
        return "asks for a type of GPU and labels that no single node has together"
    return None


def _gpu_memory_problem(wanted: Resources, nodes: tuple[NodeFacts, ...]) -> str | None:
    sizes = [node.gpu_memory_gb for node in nodes if node.gpus and node.gpu_memory_gb]
    demand = f"asks for {wanted.gpu_memory_gb:g} GB of a GPU"
    if not sizes:
        return (
            f"{demand}, but how much the GPUs here have is not known; ask with gpus= instead, or "
            f"give the nodes the label {GPU_MEMORY_LABEL}"
        )
    if wanted.gpu_memory_gb > max(sizes):
        return f"{demand}, but the largest one has {max(sizes):.0f} GB"
    return None


def _too_many_workers(planned: PlannedStage, cluster: ClusterFacts) -> str | None:
    """Check a fixed number of workers that hold devices, and so cannot take turns."""
    wanted = planned.resources
    if not planned.num_workers or not (wanted.needs_gpu or wanted.custom):
        return None
    room = sum(max_workers_on(wanted, node) or 0 for node in cluster.nodes)
    if planned.num_workers <= room:
        return None
    return f"asks for {planned.num_workers} workers, but there is room for {room} of its size"


def _rounded(amount: float) -> float:
    """Round up to Ray's units: it refuses finer amounts, and a demand must not become zero."""
    return ceil(amount * _UNITS - 1e-6) / _UNITS
