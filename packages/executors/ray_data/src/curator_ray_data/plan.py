"""The plan as operators of a Ray Data job, and what each of them gets of the cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any

from curator_core import Plan, PlannedStage, ProcessingStage, Resources
from curator_core.errors import hint
from curator_ray.cluster.autoscaler import find_autoscaler
from curator_ray.cluster.nodes import ClusterFacts
from curator_ray.resources import (
    actor_options,
    eligible_nodes,
    excluded_nodes,
    gpu_share,
    max_workers_on,
    unmet_demands,
)

KNOWN_HINTS = ("concurrency",)
_SOLUTION = "use the executor 'streaming', or 'actor_pool' (one stage after the other)"
_SIZE_STEPS = 24


# Operators


@dataclass(frozen=True)
class Operator:
    """Neighbouring stages that run in one call."""

    stages: tuple[PlannedStage, ...]

    @property
    def name(self) -> str:
        return "->".join(planned.name for planned in self.stages)

    @property
    def step(self) -> tuple[int, int]:
        return self.stages[0].index, self.stages[-1].index

    @property
    def resources(self) -> Resources:
        return self.stages[0].resources

    @property
    def concurrency(self) -> tuple[int, int | None] | None:
        """The minimum and maximum number of workers, if the user gave them."""
        first = self.stages[0]
        hinted = first.hints.get("ray_data", {}).get("concurrency", first.num_workers)
        if hinted is None:
            return None
        return (hinted, hinted) if isinstance(hinted, int) else (hinted[0], hinted[1])

    @property
    def min_workers(self) -> int:
        return self.concurrency[0] if self.concurrency else 1

    @property
    def needs_actors(self) -> bool:
        """Whether its workers are kept: they hold something, or have a fixed number."""
        fixed = self.resources.needs_gpu or self.concurrency is not None
        return fixed or any(keeps_state(planned) for planned in self.stages)

    @property
    def batch_size(self) -> int | None:
        """Number of tasks per call; None to take blocks as they come.

        Ray Data requires a batch size for operators with GPUs.
        """
        largest = max(planned.batch_size for planned in self.stages)
        return largest if largest > 1 or self.resources.needs_gpu else None


def keeps_state(planned: PlannedStage) -> bool:
    """Whether the stage implements `setup`, `teardown` or `setup_on_node`."""
    kind = type(planned.stage)
    methods = ("setup", "teardown", "setup_on_node")
    return any(getattr(kind, name) is not getattr(ProcessingStage, name) for name in methods)


def operators_of(stages: Sequence[PlannedStage]) -> list[Operator]:
    """Group neighbours that need the same resources. A fan-out ends a group, so that its outputs
    are shared by several workers."""
    operators: list[Operator] = []
    group: list[PlannedStage] = []
    for planned in stages:
        if group and not _belong_together(group[-1], planned):
            operators.append(Operator(tuple(group)))
            group = []
        group.append(planned)
    return [*operators, Operator(tuple(group))]


def _belong_together(before: PlannedStage, after: PlannedStage) -> bool:
    if before.fans_out or before.resources != after.resources:
        return False
    return not (_needs_own_workers(before) or _needs_own_workers(after))


def _needs_own_workers(planned: PlannedStage) -> bool:
    wanted = planned.resources
    return bool(
        wanted.needs_gpu
        or wanted.custom
        or planned.runtime_env
        or planned.num_workers is not None
        or planned.hints.get("ray_data")
    )


def find_hint_problems(plan: Plan) -> Iterator[str]:
    """Check what stages say with `hints={"ray_data": {...}}`."""
    for planned in plan.stages:
        at = f"stage {planned.index + 1} {planned.name!r}"
        for name, value in planned.hints.get("ray_data", {}).items():
            if name not in KNOWN_HINTS:
                yield f"{at}: no ray_data hint {name!r}{hint(name, KNOWN_HINTS)}"
            elif not is_concurrency(value):
                yield (
                    f"{at}: the ray_data hint {name!r} is {value!r}, but must be a number of "
                    "workers, or a minimum and a maximum: [1, 4]"
                )


def is_concurrency(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) == 2 and all(map(_is_count, value)) and value[0] <= value[1]
    return _is_count(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


# Shares of the cluster: all operators of a job hold theirs at once


@dataclass(frozen=True)
class Share:
    """What an operator gets of the cluster."""

    options: dict[str, Any]
    """Ray's options for each worker."""
    size: Resources
    """The resources of one worker."""
    min_workers: int
    start_workers: int
    max_workers: int


def find_problems(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """Find demands that no node meets, that the stages do not meet together, or that Ray Data
    cannot express."""
    problems = list(unmet_demands(plan, cluster))
    yield from problems
    if problems:
        return
    yield from _mixed_gpu_sizes(plan, cluster)
    exceeded = list(_exceeded_together(operators_of(plan.steps), cluster))
    if exceeded and find_autoscaler() is None:
        yield from exceeded


def shares_of(
    operators: Sequence[Operator], cluster: ClusterFacts, cpu_limit: float = inf
) -> list[Share]:
    """Return the share of each operator.

    If the workers that are kept would take all CPUs, each asks for less. Pools start with as many
    workers as fit beside each other. `cpu_limit`: CPUs that the job may use.
    """
    room = _Room(operators, cluster, cpu_limit)
    wanted = [op.resources for op in operators]
    scales = room.scales(wanted, [op.min_workers for op in operators])
    sizes = [_size(op, cluster, scale) for op, scale in zip(operators, scales, strict=True)]
    limits = [max_workers(op, size, cluster) for op, size in zip(operators, sizes, strict=True)]
    starts = _start_sizes(operators, sizes, limits, room)
    return [
        Share(_options(op, size), size, op.min_workers, start, limit)
        for op, size, start, limit in zip(operators, sizes, starts, limits, strict=True)
    ]


def max_workers(operator: Operator, size: Resources, cluster: ClusterFacts) -> int:
    """Return the user's maximum, or how many workers the nodes have room for."""
    if operator.concurrency:
        return operator.concurrency[1] or operator.min_workers
    off = excluded_nodes(operator.resources, cluster.nodes)
    nodes = [node for node in cluster.nodes if node.node_id not in off]
    rooms = [max_workers_on(size, node) for node in nodes]
    default = max(1, int(sum(node.cpus for node in nodes)))
    return max(1, sum(room for room in rooms if room is not None) or default)


def unused_gpu_node_cpus(
    operators: Sequence[Operator], shares: Sequence[Share], cluster: ClusterFacts
) -> float:
    """Count the CPUs of GPU nodes that no operator can use.

    Ray Data does not know that some operators are kept off these nodes, and would start actors
    for them that wait forever.
    """
    excluded = [excluded_nodes(operator.resources, cluster.nodes) for operator in operators]
    off = {node for nodes in excluded for node in nodes}
    used = 0.0
    for operator, share, nodes in zip(operators, shares, excluded, strict=True):
        if not nodes:
            used += share.max_workers * share.size.cpus if operator.needs_actors else inf
    return max(0.0, sum(node.cpus for node in cluster.nodes if node.node_id in off) - used)


class _Room:
    """Whether workers fit into the cluster, and on the nodes that each of them may use."""

    def __init__(
        self, operators: Sequence[Operator], cluster: ClusterFacts, cpu_limit: float
    ) -> None:
        self._operators = operators
        self._available = _available(cluster)
        everyone = list(range(len(operators)))
        nodes = [_nodes_of(operator, cluster) for operator in operators]
        self._groups = [([min(cluster.cpus, cpu_limit)], everyone)]
        """CPUs of nodes, and the operators that share them."""

        for here in dict.fromkeys(nodes):
            cpus = [node.cpus for node in cluster.nodes if node.node_id in here]
            self._groups.append((cpus, [i for i in everyone if nodes[i] == here]))

    def scales(self, sizes: Sequence[Resources], workers: Sequence[int]) -> list[float]:
        """Return the factors by which workers must ask for less, so that they fit."""
        found = [1.0] * len(sizes)
        for cpus, members in self._groups:
            scale = _scale(self._cpu_sizes(members, sizes, workers), cpus)
            for member in members:
                found[member] = min(found[member], scale)
        return found

    def holds(self, sizes: Sequence[Resources], workers: Sequence[int]) -> bool:
        held: dict[str, float] = {}
        for size, count in zip(sizes, workers, strict=True):
            for name, amount in _unscalable(size, size.gpus):
                held[name] = held.get(name, 0.0) + amount * count
        return all(
            amount <= self._available.get(name, 0.0) + 1e-9 for name, amount in held.items()
        ) and all(
            _fit_in_any_order(self._cpu_sizes(members, sizes, workers), cpus)
            for cpus, members in self._groups
        )

    def _cpu_sizes(
        self, members: Sequence[int], sizes: Sequence[Resources], workers: Sequence[int]
    ) -> list[float]:
        """Return the CPUs of all actors, plus those of the largest task."""
        actors = [i for i in members if self._operators[i].needs_actors]
        tasks = [sizes[i].cpus for i in members if not self._operators[i].needs_actors]
        found = [sizes[i].cpus for i in actors for _ in range(workers[i])]
        return [size for size in [*found, max(tasks, default=0.0)] if size]


def _nodes_of(operator: Operator, cluster: ClusterFacts) -> frozenset[str]:
    """The nodes that an operator runs on."""
    with_gpus = [node.node_id for node in cluster.nodes if node.gpus]
    return frozenset(eligible_nodes(operator.resources, cluster.nodes, with_gpus))


def _scale(sizes: Sequence[float], cpus: Sequence[float]) -> float:
    """Return the factor by which the sizes must shrink to fit on nodes with these CPUs."""
    if not sizes or not sum(cpus):  # or their nodes have left, and they wait for others
        return 1.0
    factor = min(1.0, sum(cpus) / sum(sizes))
    while not _fit_in_any_order([factor * size for size in sizes], cpus):
        factor *= 0.95
    return factor


def _fit_in_any_order(sizes: Sequence[float], cpus: Sequence[float]) -> bool:
    """Whether all find room, whichever of them is placed first."""
    if not sizes:
        return True
    total = sum(sizes)
    for size in set(sizes):
        rooms = [there - size for there in cpus if there >= size]
        if len(sizes) > len(rooms) and total - size > sum(rooms) + 1e-9:
            return False
    return True


def _start_sizes(
    operators: Sequence[Operator],
    sizes: Sequence[Resources],
    limits: Sequence[int],
    room: _Room,
) -> list[int]:
    """Give every pool the same part of its limit, as large a part as fits."""
    for step in range(_SIZE_STEPS, 0, -1):
        starts = [
            max(op.min_workers, limit * step // _SIZE_STEPS)
            for op, limit in zip(operators, limits, strict=True)
        ]
        if room.holds(sizes, starts):
            return starts
    return [op.min_workers for op in operators]


def _size(operator: Operator, cluster: ClusterFacts, scale: float) -> Resources:
    wanted = operator.resources
    cpus = floor(wanted.cpus * scale * 100) / 100 if scale < 1 else wanted.cpus
    return replace(wanted, cpus=cpus, gpus=_gpus_of(wanted, cluster), gpu_memory_gb=0.0)


def _options(operator: Operator, size: Resources) -> dict[str, Any]:
    options = actor_options(size)
    if operator.stages[0].runtime_env:
        options["runtime_env"] = dict(operator.stages[0].runtime_env)
    return options


def _gpus_of(wanted: Resources, cluster: ClusterFacts) -> float:
    """The share of a GPU with this much memory; `find_problems` refuses GPUs of several sizes."""
    if not wanted.gpu_memory_gb:
        return wanted.gpus
    sizes = [node.gpu_memory_gb for node in cluster.nodes if node.gpus and node.gpu_memory_gb]
    if not sizes:  # an autoscaler brings the first one, of a size that is not known
        return 1.0
    return gpu_share(wanted.gpu_memory_gb, min(sizes))


def _unscalable(wanted: Resources, gpus: float) -> list[tuple[str, float]]:
    """The resources that cannot be scaled down, as CPUs can."""
    amounts = {"GPU": gpus, "GB of memory": wanted.memory_gb, **wanted.custom}
    return list(amounts.items())


def _available(cluster: ClusterFacts) -> dict[str, float]:
    """The amount of each such resource on all nodes."""
    totals: dict[str, float] = {}
    for node in cluster.nodes:
        amounts = {"GPU": node.gpus, "GB of memory": node.memory_gb, **node.custom}
        for name, amount in amounts.items():
            totals[name] = totals.get(name, 0.0) + amount
    return totals


def _mixed_gpu_sizes(plan: Plan, cluster: ClusterFacts) -> Iterator[str]:
    """Ray Data has one share for all nodes, but a share of a small GPU is not one of a large."""
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


def _exceeded_together(operators: Sequence[Operator], cluster: ClusterFacts) -> Iterator[str]:
    available = _available(cluster)
    asked: dict[str, float] = {}
    names: dict[str, list[str]] = {}
    for operator in operators:
        wanted = operator.resources
        for name, amount in _unscalable(wanted, _gpus_of(wanted, cluster)):
            if amount:
                asked[name] = asked.get(name, 0.0) + amount * operator.min_workers
                names.setdefault(name, []).append(repr(operator.name))
    for name, amount in asked.items():
        if len(names[name]) > 1 and amount > available.get(name, 0.0) + 1e-9:
            yield (
                f"stages {', '.join(names[name])} ask for {amount:g} {name} together, but there "
                f"are {available.get(name, 0.0):g}: in a Ray Data job all stages hold theirs at "
                f"once; {_SOLUTION}"
            )
