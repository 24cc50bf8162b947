"""Fusion: merge neighbouring stages that share work into one stage that counts each of them.

A plan keeps its stages as they were written, for counts, reports, resuming and retries.
Executors run its `steps`, in which neighbouring stages may be fused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from curator_core.model.stages import PLACEMENT_SETTINGS, FusedStage
from curator_core.plan.plan import Plan, PlannedStage


def fuse(plan: Plan) -> Plan:
    """Return the plan with those steps merged into one that can share work."""
    return replace(plan, steps=tuple(_steps(plan.stages)))


def unfuse(plan: Plan) -> Plan:
    """Return the plan with one step for each stage."""
    return replace(plan, steps=plan.stages)


def _steps(stages: Sequence[PlannedStage]) -> Iterator[PlannedStage]:
    position = 0
    while position < len(stages):
        step = _merge_from(stages[position:])
        position += len(step.parts)
        yield step


def _merge_from(stages: Sequence[PlannedStage]) -> PlannedStage:
    """Return the first stage, merged with the following ones that can share its work."""
    first, following = stages[0], stages[1:]
    if not first.stage.fuse:
        return first
    near = list(takewhile(lambda other: can_run_together(first, other), following))
    later = following[len(near) :]
    stage = first.stage.fuse_with([one.stage for one in near], [one.stage for one in later])
    if stage is None:
        return first
    if not isinstance(stage, FusedStage):
        return replace(first, stage=stage)
    members = zip(stages, stage.members, strict=False)
    return replace(
        first,
        stage=stage,
        members=tuple(replace(planned, stage=member) for planned, member in members),
    )


def can_run_together(first: PlannedStage, other: PlannedStage) -> bool:
    """Return whether two stages can run in the same worker in one call, as far as settings go."""
    if not other.stage.fuse:
        return False
    if first.policy.timeout_s is not None or other.policy.timeout_s is not None:
        return False  # a time limit applies to one stage
    if first.stage.works_on_batches or other.stage.works_on_batches:
        return False
    if any(getattr(first.stage, n) != getattr(other.stage, n) for n in PLACEMENT_SETTINGS):
        return False
    return all(getattr(first, name) == getattr(other, name) for name in _EQUAL)


_EQUAL = ("resources", "num_workers", "runtime_env", "batch_size", "hints")
