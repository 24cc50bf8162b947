"""Bottlenecks: which stage holds up a run, the evidence for it, and what to change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.model.formatting import duration
from curator_core.model.usage import Usage

_SHORT_S = 1.0
_RELEVANT_SHARE = 0.4
"""A stage with a smaller share of all busy time is not reported as the bottleneck."""

_IDLE = 0.5
_COMPUTES = 0.7
_CROWDED = 0.25
_OVERHEAD_S = 0.002


@dataclass(frozen=True)
class ReportedBottleneck:
    """What holds up the run; `name` is empty if no stage does."""

    name: str
    evidence: str
    advice: str


def bottleneck_of(
    usages: Mapping[str, Usage], needs: Mapping[str, Any], diagnosis: Mapping[str, Any]
) -> ReportedBottleneck | None:
    """Find the bottleneck; None if the run was too short to tell.

    Prefers the scheduler's own diagnosis; otherwise analyzes the stage that was busy longest.
    `needs` are the resources of each stage.
    """
    if diagnosis.get("bottleneck"):
        return ReportedBottleneck(
            diagnosis["bottleneck"], diagnosis["evidence"], diagnosis["advice"]
        )
    busy = sum(usage.seconds for usage in usages.values())
    if busy < _SHORT_S:
        return None
    waited = sum(usage.waited_s for usage in usages.values())
    if waited > busy * _IDLE / (1 - _IDLE):
        return _of_listing(busy, waited)
    name, most = max(usages.items(), key=lambda found: found[1].seconds)
    held, by = max((usage.held_s, name) for name, usage in usages.items())
    if held > busy:
        return ReportedBottleneck(
            "the consumer of the outputs",
            f"outputs of {by} waited {duration(held)} to be taken, longer than the stages worked",
            "put a writer at the end of the pipeline, or take the outputs faster",
        )
    share = most.seconds / busy
    evidence = (
        f"it took {_percent(share)} of all time in stages ({duration(most.seconds)} of "
        f"{duration(busy)})"
    )
    if share < _RELEVANT_SHARE:
        return ReportedBottleneck(
            "", f"no stage stands out: {name} took most, {_percent(share)} of all time in stages",
            "run it on more CPUs, which helps all stages alike",
        )  # fmt: skip
    return ReportedBottleneck(name, evidence, _advice(name, most, needs.get(name) or {}))


def _of_listing(busy: float, waited: float) -> ReportedBottleneck:
    return ReportedBottleneck(
        "the supply of work",
        f"workers had nothing to do for {_percent(waited / (busy + waited))} of their time",
        "divide the input into more and smaller parts (blocksize of the reader), or use fewer "
        "workers, which takes as long",
    )


def _advice(name: str, usage: Usage, resources: Mapping[str, Any]) -> str:
    """Return one change to try, and why."""
    computes = usage.cpu_s / usage.seconds if usage.seconds else 0.0
    crowded = usage.crowded_s / usage.seconds if usage.seconds else 0.0
    per_task = usage.seconds / usage.tasks if usage.tasks else 0.0
    if resources.get("gpus") or resources.get("gpu_memory_gb"):
        return (
            f"use larger batches for {name} (batch_size), or let two workers share a GPU (gpus=0.5)"
        )
    if usage.setup_s > usage.seconds:
        return (
            f"use fewer workers for {name} (num_workers): setting it up took "
            f"{duration(usage.setup_s)}, longer than its work"
        )
    if computes < _COMPUTES and crowded > _CROWDED:
        return (
            f"give the run more CPUs: {name} waited for a free CPU for {_percent(crowded)} of its "
            "time, because more was running on the machine than it has CPUs for"
        )
    if computes < _COMPUTES:
        return (
            f"use more workers for {name} (num_workers): it used its CPU for only "
            f"{_percent(computes)} of the time, and waited for something else during the rest"
        )
    if per_task < _OVERHEAD_S and usage.tasks > 1000:
        return (
            "use larger batches, with more records in each: these took less than "
            f"{1000 * _OVERHEAD_S:.0f} ms each"
        )
    return f"run it on more CPUs or machines: {name} kept its CPU busy"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
