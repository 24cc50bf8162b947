"""Steps: the stages that one call runs, either a single one or fused neighbours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from curator_core import AnyStage, PlannedStage

from curator_streaming.scheduler.resources import GB, NO_LIMIT, UNIT, Need


@dataclass(frozen=True, slots=True)
class RecyclingLimits:
    """When the workers of a stage are replaced. 0 means never, None as for all other stages."""

    max_lifetime_s: float | None = None
    max_tasks: int | None = None
    max_rss: int | None = None

    @classmethod
    def of(cls, stage: AnyStage) -> Self:
        minutes, gb = stage.worker_max_lifetime_m, stage.worker_max_rss_gb
        return cls(
            None if minutes is None else minutes * 60,
            stage.worker_max_tasks,
            None if gb is None else int(gb * GB),
        )


def strictest_limit(default: float, limits: Sequence[float | None]) -> float:
    """Return the smallest limit; a stage without one of its own has the default, and 0 is none."""
    chosen = [default if limit is None else limit for limit in limits or [None]]
    return min((limit for limit in chosen if limit), default=0.0)


@dataclass(frozen=True, slots=True)
class StepSpec:
    """The stages at the positions `first` to `last` of those that run in workers.

    `first` identifies a step for its whole life, also when it is split.
    """

    first: int
    last: int
    names: tuple[str, ...]
    need: Need
    is_dedicated: bool = False
    """Whether its workers run nothing else."""

    num_workers: int | None = None
    """A fixed number of workers, if the stage asks for one."""

    workers_per_node: int | None = None
    """A fixed number of workers on each node."""

    max_workers_per_node: int | None = None
    batch_size: int = 1
    """How many tasks its stages prefer to get together."""

    timeout_s: float = 0.0
    """The time limit per task; 0 for none."""

    limits: tuple[RecyclingLimits, ...] = ()
    """When its workers are replaced, by each of its stages that says so."""

    @property
    def name(self) -> str:
        return "+".join(self.names)

    @property
    def is_fixed(self) -> bool:
        """Whether the number of workers was requested."""
        return self.num_workers is not None or self.workers_per_node is not None

    @property
    def node_limit(self) -> int:
        """The largest number of workers on one node."""
        return self.workers_per_node or self.max_workers_per_node or NO_LIMIT

    @property
    def is_spread(self) -> bool:
        """Whether its workers are spread over nodes, instead of packed on few of them."""
        return self.is_fixed or self.need.gpus >= UNIT


def plan_steps(
    stages: Sequence[PlannedStage], fans_out: Iterable[str] = (), *, fuses: bool = True
) -> list[StepSpec]:
    """Group stages into steps; `fans_out` names stages that are known to fan out.

    Neighbouring CPU stages become one step, but never across a fan-out, different resources, or a
    stage with `hints={"streaming": {"fuse": False}}`. Without `fuses` each stage is a step.
    """
    known = frozenset(fans_out)
    steps: list[StepSpec] = []
    for position, planned in enumerate(stages):
        spec = _single_step(position, planned)
        if fuses and steps and _can_fuse(stages[position - 1], planned, known):
            steps[-1] = _fuse(steps[-1], spec)
        else:
            steps.append(spec)
    return steps


def split_spec(spec: StepSpec, last: int) -> tuple[StepSpec, StepSpec]:
    """Split a step behind the stage at `last`."""
    count = last - spec.first + 1
    memory = spec.need.memory * count // len(spec.names)
    before, after = (replace(spec.need, memory=m) for m in (memory, spec.need.memory - memory))
    return (
        replace(spec, last=last, names=spec.names[:count], need=before),
        replace(spec, first=last + 1, names=spec.names[count:], need=after),
    )


def _single_step(position: int, planned: PlannedStage) -> StepSpec:
    need = Need.of(planned.resources)
    stage = planned.stage
    per_node = stage.workers_per_node, stage.max_workers_per_node
    is_counted = planned.num_workers is not None or any(per_node)
    return StepSpec(
        first=position,
        last=position,
        names=(planned.name,),
        need=need,
        is_dedicated=need.is_special or is_counted or bool(planned.runtime_env),
        num_workers=planned.num_workers,
        workers_per_node=stage.workers_per_node,
        max_workers_per_node=stage.max_workers_per_node,
        batch_size=planned.batch_size if planned.stage.works_on_batches else 1,
        timeout_s=planned.policy.timeout_s or 0.0,
        limits=tuple(RecyclingLimits.of(part.stage) for part in planned.parts),
    )


def _fuse(before: StepSpec, after: StepSpec) -> StepSpec:
    has_limit = before.timeout_s and after.timeout_s
    return replace(
        before,
        last=after.last,
        names=before.names + after.names,
        need=replace(before.need, memory=before.need.memory + after.need.memory),
        batch_size=max(before.batch_size, after.batch_size),
        timeout_s=before.timeout_s + after.timeout_s if has_limit else 0.0,
        limits=before.limits + after.limits,
    )


def _can_fuse(before: PlannedStage, after: PlannedStage, fans_out: frozenset[str]) -> bool:
    specs = (_single_step(0, before), _single_step(0, after))
    return (
        not any(spec.is_dedicated for spec in specs)
        and before.resources == after.resources
        and all(_allows_fusion(planned) for planned in (before, after))
        and before.name not in fans_out
        and not before.fans_out
    )


def _allows_fusion(planned: PlannedStage) -> bool:
    return planned.hints.get("streaming", {}).get("fuse", True) is not False
