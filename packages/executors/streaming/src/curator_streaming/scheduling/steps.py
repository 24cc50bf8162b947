"""Steps: what one call runs. A stage of its own, or neighbours that are run in one go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from curator_core import PlannedStage

from curator_streaming.scheduling.needs import Capacity, Need, demanded, offered


@dataclass(frozen=True, slots=True)
class StepSpec:
    """The stages at the positions `first` to `last` of the line that workers run.

    A step is known by `first` for its whole life, also when it is split. `is_dedicated`: its
    workers run nothing else. `num_workers`: fixed, where the stage says so. `batch_size`: how
    many tasks together its stages like best. `timeout_s`: for one task, 0 without a limit.
    """

    first: int
    last: int
    names: tuple[str, ...]
    need: Need
    is_dedicated: bool = False
    num_workers: int | None = None
    batch_size: int = 1
    timeout_s: float = 0.0

    @property
    def name(self) -> str:
        return "+".join(self.names)


def steps_of(
    stages: Sequence[PlannedStage], fans_out: Iterable[str] = (), *, fuses: bool = True
) -> list[StepSpec]:
    """The steps of a line of stages; `fans_out` names stages that were seen to fan out before.

    Neighbouring CPU stages become one step, but never across a fan-out, a changed need, or a
    stage with `hints={"streaming": {"fuse": False}}`; without `fuses` each is one by itself.
    """
    known = frozenset(fans_out)
    steps: list[StepSpec] = []
    for position, planned in enumerate(stages):
        spec = _step_of(position, planned)
        if fuses and steps and _may_follow(stages[position - 1], planned, known):
            steps[-1] = _joined(steps[-1], spec)
        else:
            steps.append(spec)
    return steps


def split(spec: StepSpec, last: int) -> tuple[StepSpec, StepSpec]:
    """Two steps where there was one: the first of them ends with the stage at `last`."""
    count = last - spec.first + 1
    memory = spec.need.memory * count // len(spec.names)
    before, after = (replace(spec.need, memory=m) for m in (memory, spec.need.memory - memory))
    return (
        replace(spec, last=last, names=spec.names[:count], need=before),
        replace(spec, first=last + 1, names=spec.names[count:], need=after),
    )


def could_hold(capacity: Capacity, need: Need) -> bool:
    """Whether an empty node of this capacity has what the need asks for."""
    custom = {name: offered(amount) for name, amount in (capacity.custom or {}).items()}
    return (
        need.cpus <= demanded(capacity.cpus)
        and need.memory <= capacity.memory
        and _devices_suffice(capacity, need)
        and all(custom.get(name, 0) >= amount for name, amount in need.custom)
    )


def _devices_suffice(capacity: Capacity, need: Need) -> bool:
    if need.gpu_memory:
        return any(device.memory >= need.gpu_memory for device in capacity.devices)
    return -(-need.gpus // demanded(1)) <= len(capacity.devices)


def _step_of(position: int, planned: PlannedStage) -> StepSpec:
    need = Need.of(planned.resources)
    fixed = planned.num_workers is not None
    return StepSpec(
        first=position,
        last=position,
        names=(planned.name,),
        need=need,
        is_dedicated=need.is_special or fixed or bool(planned.runtime_env),
        num_workers=planned.num_workers,
        batch_size=planned.batch_size if planned.stage.works_on_batches else 1,
        timeout_s=planned.policy.timeout_s or 0.0,
    )


def _joined(before: StepSpec, after: StepSpec) -> StepSpec:
    timed = before.timeout_s and after.timeout_s
    return replace(
        before,
        last=after.last,
        names=before.names + after.names,
        need=replace(before.need, memory=before.need.memory + after.need.memory),
        batch_size=max(before.batch_size, after.batch_size),
        timeout_s=before.timeout_s + after.timeout_s if timed else 0.0,
    )


def _may_follow(before: PlannedStage, after: PlannedStage, fans_out: frozenset[str]) -> bool:
    """Whether `after` may be run in the same call as `before`."""
    specs = (_step_of(0, before), _step_of(0, after))
    return (
        not any(spec.is_dedicated for spec in specs)
        and before.resources == after.resources
        and all(_wants_company(planned) for planned in (before, after))
        and before.name not in fans_out
        and not before.fans_out
    )


def _wants_company(planned: PlannedStage) -> bool:
    return planned.hints.get("streaming", {}).get("fuse", True) is not False
