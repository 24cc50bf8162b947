"""How many actors of a stage each node gets, and which resources stay reserved."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from curator_core import Plan, PlannedStage, Resources
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray.errors import ClusterError
from curator_ray.resources import gpus_on, max_workers_on, unmet_demands


@dataclass(frozen=True)
class ActorKind:
    """Actors of one kind can run each other's stages, and stay from one stage to the next."""

    resources: Resources
    environment: str
    stage: int | None
    """The stage, if it has actors of its own."""

    @classmethod
    def of(cls, planned: PlannedStage) -> "ActorKind":
        wanted = planned.resources
        is_special = wanted.needs_gpu or wanted.memory_gb or any(wanted.custom.values())
        has_own_actors = bool(is_special or planned.num_workers)
        environment = repr(sorted((planned.runtime_env or {}).items()))
        return cls(wanted, environment, planned.index if has_own_actors else None)


def subtract_reserved(
    nodes: Iterable[NodeFacts], cpus: float, gpus: float
) -> tuple[NodeFacts, ...]:
    """Subtract reserved CPUs and GPUs from the largest nodes, so that small ones stay useful."""
    left = list(nodes)
    _refuse_too_much(cpus, gpus, left)
    for _ in left:
        largest = max(left, key=lambda node: node.cpus)
        taken = min(cpus, largest.cpus)
        cpus -= taken
        left[left.index(largest)] = replace(largest, cpus=largest.cpus - taken)
        largest = max(left, key=lambda node: node.gpus)
        taken = min(gpus, largest.gpus)
        gpus -= taken
        left[left.index(largest)] = replace(largest, gpus=largest.gpus - taken)
    return tuple(left)


def find_unmet_demands(
    plan: Plan, facts: ClusterFacts, reserved_cpus: float, reserved_gpus: float
) -> Iterable[str]:
    """Yield the demands of stages that no node can meet after reservations."""
    nodes = subtract_reserved(facts.nodes, reserved_cpus, reserved_gpus)
    parts = [
        f"{reserved_cpus:g} CPUs" if reserved_cpus else "",
        f"{reserved_gpus:g} GPUs" if reserved_gpus else "",
    ]
    reserved = " and ".join(filter(None, parts))
    for problem in unmet_demands(plan, ClusterFacts(nodes)):
        yield f"{problem}, without the {reserved} that are reserved" if reserved else problem


def max_actors_with_others(
    planned: PlannedStage, node: NodeFacts, others: Iterable[Resources]
) -> int:
    """Return how many actors of a stage fit on a node next to the actors of other stages.

    The others are idle meanwhile: they need no CPUs, but keep their GPUs and memory.
    """
    gpus, memory, custom = 0.0, 0.0, dict(node.custom)
    for held in others:
        gpus += gpus_on(held, node) or 0.0
        memory += held.memory_gb
        for name, amount in held.custom.items():
            custom[name] = custom.get(name, 0.0) - amount
    held_gpus = -(-gpus // 1)
    rest = replace(
        node, gpus=node.gpus - held_gpus, memory_gb=node.memory_gb - memory, custom=custom
    )
    wanted = planned.resources
    if planned.num_workers:  # a given number is not limited by CPUs
        wanted = replace(wanted, cpus=0.0)
    workers = max_workers_on(wanted, rest)
    if workers is None:
        return planned.num_workers or max(1, int(node.cpus))
    return max(0, workers)


def choose_nodes(count: int, free: Mapping[str, int], present: Mapping[str, int]) -> list[str]:
    """Choose a node for each of `count` actors: always one of those with the fewest actors.

    `free`: how many more actors each node holds; `present`: how many it has.
    """
    left = {name: room for name, room in free.items() if room > 0}
    counts = {name: present.get(name, 0) for name in left}
    chosen: list[str] = []
    while left and len(chosen) < count:
        name = min(left, key=lambda one: (counts[one], -left[one], one))
        chosen.append(name)
        counts[name] += 1
        left[name] -= 1
        if not left[name]:
            del left[name]
    return chosen


def _refuse_too_much(cpus: float, gpus: float, nodes: Iterable[NodeFacts]) -> None:
    """Refuse to reserve all CPUs. All GPUs may be reserved if no stage needs one."""
    cluster = ClusterFacts(tuple(nodes))
    if cpus and cpus >= cluster.cpus:
        raise ClusterError(
            f"reserved_cpus is {cpus:g}, but the cluster has {cluster.cpus:g} CPUs: nothing would "
            "be left"
        )
    if gpus > cluster.gpus:
        raise ClusterError(
            f"reserved_gpus is {gpus:g}, but the cluster has {cluster.gpus:g} GPUs; reserve no "
            "more than that"
        )
