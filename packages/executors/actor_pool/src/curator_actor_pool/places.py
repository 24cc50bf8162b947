"""Places: which nodes hold how many actors of a stage, and what is kept free of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from curator_core import Plan, PlannedStage, Resources
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray.errors import ClusterError
from curator_ray.resources import gpus_on, max_workers_on, unmet_demands


@dataclass(frozen=True)
class Kind:
    """Actors of one kind may run each other's stages, and stay from one stage to the next."""

    resources: Resources
    environment: str
    stage: int | None
    """The stage that has actors of its own, if it is one of those."""

    @classmethod
    def of(cls, planned: PlannedStage) -> "Kind":
        wanted = planned.resources
        is_special = wanted.needs_gpu or wanted.memory_gb or any(wanted.custom.values())
        is_alone = bool(is_special or planned.num_workers)
        environment = repr(sorted((planned.runtime_env or {}).items()))
        return cls(wanted, environment, planned.index if is_alone else None)


def kept_free(nodes: Iterable[NodeFacts], cpus: float, gpus: float) -> tuple[NodeFacts, ...]:
    """The nodes without what is reserved: of the largest ones, so that small ones stay useful."""
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


def unfit(plan: Plan, facts: ClusterFacts, cpus: float, gpus: float) -> Iterable[str]:
    """What the stages ask for and no node has, without what is reserved."""
    nodes = kept_free(facts.nodes, cpus, gpus)
    held = [f"{cpus:g} CPUs" if cpus else "", f"{gpus:g} GPUs" if gpus else ""]
    told = " and ".join(filter(None, held))
    for problem in unmet_demands(plan, ClusterFacts(nodes)):
        yield f"{problem}, without the {told} that are reserved" if told else problem


def room_left(planned: PlannedStage, node: NodeFacts, others: Iterable[Resources]) -> int:
    """How many actors of a stage this node holds beside others, who work at another time.

    So these need no CPUs meanwhile, but keep all else that they have.
    """
    gpus, memory, custom = 0.0, 0.0, dict(node.custom)
    for held in others:
        gpus += gpus_on(held, node) or 0.0
        memory += held.memory_gb
        for name, amount in held.custom.items():
            custom[name] = custom.get(name, 0.0) - amount
    whole = -(-gpus // 1)
    rest = replace(node, gpus=node.gpus - whole, memory_gb=node.memory_gb - memory, custom=custom)
    wanted = planned.resources
    if planned.num_workers:  # a number that was given on purpose is not limited by CPUs
        wanted = replace(wanted, cpus=0.0)
    room = max_workers_on(wanted, rest)
    if room is None:
        return planned.num_workers or max(1, int(node.cpus))
    return max(0, room)


def spread(count: int, rooms: Mapping[str, int], present: Mapping[str, int]) -> list[str]:
    """A node for each of `count` actors: where the fewest of them are first."""
    left = {name: room for name, room in rooms.items() if room > 0}
    there = {name: present.get(name, 0) for name in left}
    chosen: list[str] = []
    while left and len(chosen) < count:
        name = min(left, key=lambda one: (there[one], -left[one], one))
        chosen.append(name)
        there[name] += 1
        left[name] -= 1
        if not left[name]:
            del left[name]
    return chosen


def _refuse_too_much(cpus: float, gpus: float, nodes: Iterable[NodeFacts]) -> None:
    """All CPUs are too many; all GPUs are not, for stages that need none."""
    there = ClusterFacts(tuple(nodes))
    if cpus and cpus >= there.cpus:
        raise ClusterError(
            f"reserved_cpus is {cpus:g}, but the cluster has {there.cpus:g} CPUs: nothing would "
            "be left"
        )
    if gpus > there.gpus:
        raise ClusterError(
            f"reserved_gpus is {gpus:g}, but the cluster has {there.gpus:g} GPUs; reserve no more "
            "than that"
        )
