"""Sharing: what the operators of a job get of a cluster. All of them hold theirs at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any

from curator_core import Plan, Resources
from curator_ray.cluster.nodes import ClusterFacts
from curator_ray.resources import (
    actor_options,
    eligible_nodes,
    excluded_nodes,
    gpu_share,
    max_workers_on,
    unmet_demands,
)

from curator_ray_data.operators import Operator, operators_of

_WAY_OUT = "use the executor 'streaming', or 'actor_pool' (one stage after the other)"


@dataclass(frozen=True)
class Share:
    """What an operator tells Ray Data: its options for Ray, and how many workers it may have."""

    options: dict[str, Any]
    fewest: int
    most: int
    size: Resources
    """What one of them asks for."""


def refused(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """What no node has; and what the stages cannot hold all together, or Ray Data not express."""
    problems = list(unmet_demands(plan, cluster))
    yield from problems
    if problems:
        return
    yield from _mixed_devices(plan, cluster)
    yield from _too_much_together(operators_of(plan.steps), cluster)


def shares(
    operators: Sequence[Operator], cluster: ClusterFacts, most_cpus: float = inf
) -> list[Share]:
    """Options for each operator; where workers that stay take all CPUs, each counts for less.

    `most_cpus`: how many of them the job may take, for Ray Data starts the fewest of each in any
    case.
    """
    all_cpus = [min(cluster.cpus, most_cpus)]
    grounds = [_ground(operator, cluster) for operator in operators]
    factors = dict.fromkeys(grounds, _factor(operators, all_cpus))
    for ground in factors:
        there = [op for op, where in zip(operators, grounds, strict=True) if where == ground]
        cpus = [node.cpus for node in cluster.nodes if node.node_id in ground]
        factors[ground] = min(factors[ground], _factor(there, cpus))
    return [
        _share(operator, cluster, factors[ground])
        for operator, ground in zip(operators, grounds, strict=True)
    ]


def _ground(operator: Operator, cluster: ClusterFacts) -> frozenset[str]:
    """The nodes that an operator runs on."""
    with_gpus = [node.node_id for node in cluster.nodes if node.gpus]
    return frozenset(eligible_nodes(operator.resources, cluster.nodes, with_gpus))


def _factor(operators: Sequence[Operator], cpus: Sequence[float]) -> float:
    """How much of what they ask for fits on nodes of so many CPUs, whoever is placed first."""
    sizes = [size for size in _least(operators) if size]
    if not sizes or not sum(cpus):  # or their nodes have gone, and they wait for others
        return 1.0
    factor = min(1.0, sum(cpus) / sum(sizes))
    while not _fit_in_any_order([factor * size for size in sizes], cpus):
        factor *= 0.95
    return factor


def _least(operators: Sequence[Operator]) -> list[float]:
    """Workers of actor pools stay: what they ask for together must leave room for a task."""
    staying = [size for op in operators if op.needs_actors
               for size in [op.resources.cpus] * _fewest(op)]  # fmt: skip
    passing = [op.resources.cpus for op in operators if not op.needs_actors]
    return [*staying, max(passing, default=0.0)]


def _fit_in_any_order(sizes: Sequence[float], cpus: Sequence[float]) -> bool:
    """Whether the others leave room for each, though what is left over is spread over the nodes."""
    for size in set(sizes):
        rooms = [there - size for there in cpus if there >= size]
        others = sum(sizes) - size
        if len(sizes) > len(rooms) and others > sum(rooms) + 1e-9:
            return False
    return True


def _fewest(operator: Operator) -> int:
    return operator.concurrency[0] if operator.concurrency else 1


def _share(operator: Operator, cluster: ClusterFacts, factor: float) -> Share:
    wanted = operator.resources
    cpus = floor(wanted.cpus * factor * 100) / 100 if factor < 1 else wanted.cpus
    scaled = replace(wanted, cpus=cpus, gpus=_gpus_of(wanted, cluster), gpu_memory_gb=0.0)
    options = actor_options(scaled)
    if operator.stages[0].runtime_env:
        options["runtime_env"] = dict(operator.stages[0].runtime_env)
    return Share(options, _fewest(operator), most_workers(operator, scaled, cluster), scaled)


def most_workers(operator: Operator, size: Resources, cluster: ClusterFacts) -> int:
    """As many as somebody said, or as there is room for where it may run."""
    fewest = _fewest(operator)
    if operator.concurrency:
        return operator.concurrency[1] or fewest
    off = excluded_nodes(operator.resources, cluster.nodes)
    nodes = [node for node in cluster.nodes if node.node_id not in off]
    rooms = [max_workers_on(size, node) for node in nodes]
    there = max(1, int(sum(node.cpus for node in nodes)))
    return max(fewest, sum(room for room in rooms if room is not None) or there)


def idle_cpus(
    operators: Sequence[Operator], shared: Sequence[Share], cluster: ClusterFacts
) -> float:
    """How many CPUs of nodes with GPUs nobody may take: operators are kept off, others need less.

    Ray Data does not know of it, and would start actors for them that wait for ever.
    """
    off = {
        name for operator in operators for name in excluded_nodes(operator.resources, cluster.nodes)
    }
    taken = 0.0
    for operator, share in zip(operators, shared, strict=True):
        if not excluded_nodes(operator.resources, cluster.nodes):
            taken += share.most * share.size.cpus if operator.needs_actors else inf
    return max(0.0, sum(node.cpus for node in cluster.nodes if node.node_id in off) - taken)


def _gpus_of(wanted: Resources, cluster: ClusterFacts) -> float:
    """The share of a device that holds so much memory: devices are alike, or it was refused."""
    if not wanted.gpu_memory_gb:
        return wanted.gpus
    sizes = [node.gpu_memory_gb for node in cluster.nodes if node.gpus and node.gpu_memory_gb]
    return gpu_share(wanted.gpu_memory_gb, min(sizes))


def _mixed_devices(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """Ray Data gives one share for all nodes; a share of a small device is not one of a large."""
    sizes = {node.gpu_memory_gb for node in cluster.nodes if node.gpus}
    if len(sizes) < 2:
        return
    for planned in plan.stages:
        if planned.resources.gpu_memory_gb:
            yield (
                f"stage {planned.index + 1} {planned.name!r} asks for "
                f"{planned.resources.gpu_memory_gb:g} GB of a GPU, and the nodes have GPUs of "
                "different sizes, which Ray Data cannot tell apart; ask with gpus= instead, or "
                "use the executor 'streaming'"
            )


def _too_much_together(operators: Sequence[Operator], cluster: ClusterFacts) -> Iterator[str]:
    """GPUs and custom resources cannot be shared out thinner, as CPUs can."""
    there = {"GPU": cluster.gpus}
    asked: dict[str, float] = {}
    who: dict[str, list[str]] = {}
    for node in cluster.nodes:
        for name, amount in node.custom.items():
            there[name] = there.get(name, 0.0) + amount
    for operator in operators:
        wanted = {"GPU": _gpus_of(operator.resources, cluster), **operator.resources.custom}
        for name, amount in wanted.items():
            if amount:
                asked[name] = asked.get(name, 0.0) + amount * _fewest(operator)
                who.setdefault(name, []).append(repr(operator.name))
    for name, amount in asked.items():
        if len(who[name]) > 1 and amount > there.get(name, 0.0) + 1e-9:
            yield (
                f"stages {', '.join(who[name])} ask for {amount:g} {name} together, but there are "
                f"{there.get(name, 0.0):g}: in a Ray Data job all stages hold theirs at once; "
                f"{_WAY_OUT}"
            )
