"""Sizing: how many workers this machine can run for a plan, and which demands it cannot meet."""

from collections.abc import Iterator

from curator_core.execution.timeouts import AlarmTimer
from curator_core.model.hardware import available_cpus, total_memory_gb, visible_gpus
from curator_core.plan.plan import Plan


def unmet_demands(plan: Plan, *, in_process: bool) -> Iterator[str]:
    """Yield problems with demands that this machine, or this execution mode, cannot meet."""
    gpus = len(visible_gpus())
    memory = total_memory_gb()
    for planned in plan.stages:
        needs = planned.resources
        at = f"stage {planned.index + 1} {planned.name!r}"
        if needs.needs_gpu and max(needs.gpus, 1) > gpus:
            asked = f"{needs.gpus:g} GPU" if needs.gpus else f"{needs.gpu_memory_gb:g} GB of a GPU"
            yield (
                f"{at} asks for {asked}, but this machine has {gpus or 'none'}; run it where there "
                "is one, or set its resources without a GPU if it can do without"
            )
        if needs.memory_gb > memory:
            yield (
                f"{at} asks for {needs.memory_gb:g} GB of memory, but this machine has "
                f"{memory:.1f} GB; ask for less, or run on a cluster"
            )
        if needs.custom:
            names = ", ".join(sorted(needs.custom))
            yield (
                f"{at} asks for the custom resource {names}, which only a cluster has; "
                "use the executor 'streaming'"
            )
        if planned.policy.timeout_s and in_process and not AlarmTimer.works_here():
            yield (
                f"{at} has a timeout_s, which cannot be kept in a thread of this process; "
                "use workers=1 or more"
            )


def workers_for(plan: Plan, asked: int | None) -> int:
    """Return the number of worker processes, limited by cores, memory and GPUs."""
    needs = [planned.resources for planned in plan.stages]
    if asked is None:
        widest = max((r.cpus for r in needs), default=1.0)
        asked = max(1, int(available_cpus() // max(widest, 1.0)))
    limits = [p.num_workers for p in plan.stages[1:] if p.num_workers]
    memory = sum(r.memory_gb for r in needs)
    if memory:
        limits.append(max(1, int(total_memory_gb() // memory)))
    gpus = sum(r.gpus or (1.0 if r.gpu_memory_gb else 0.0) for r in needs)
    if gpus:
        limits.append(max(1, int(len(visible_gpus()) // gpus)))
    return min([asked, *limits])
