"""Statistics: how busy the workers of each step were, what they waited for, and the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from curator_streaming.scheduler.resources import UNIT
from curator_streaming.scheduler.state import PoolState, SchedulerState, StepState

SOURCES = "the listing of sources"
CONSUMER = "the consumer of the outputs"

_MIN_LOAD = 0.5
"""Something that was busy for less of the time was not a bottleneck."""

_MIN_RUN_S = 1.0


@dataclass(slots=True)
class PoolTimes:
    """Seconds added up over the workers of a pool: in total, and waiting for something."""

    there: float = 0.0
    input: float = 0.0
    room: float = 0.0
    cpus: float = 0.0
    most: int = 0
    """The largest number of workers."""


@dataclass(slots=True)
class UtilizationSampler:
    """Samples what workers wait for, and counts it for the time since the last sample."""

    state: SchedulerState
    seconds: float = 0.0
    """How long there were workers and work, or work was expected."""

    cpu_seconds: float = 0.0
    sources: float = 0.0
    """How long workers were idle because requested sources did not arrive."""

    consumer: float = 0.0
    """How long nothing could begin because final outputs were not taken."""

    pools: dict[int | None, PoolTimes] = field(default_factory=dict)
    _sampled_at: float | None = None

    def sample(self, pending_sources: int) -> None:
        state = self.state
        before, self._sampled_at = self._sampled_at, state.now
        is_waiting = pending_sources > 0 and state.first_step.queue.tasks == 0
        if before is None or not (state.active or is_waiting):
            return
        pools = [state.shared, *(s.pool for s in state.steps.values() if s.spec.is_dedicated)]
        if not any(pool.ready for pool in pools):
            return
        seconds = state.now - before
        self.seconds += seconds
        self.cpu_seconds += seconds * sum(node.cpus for node in state.nodes.values()) / UNIT
        for pool in pools:
            self._sample_pool(pool, seconds)
        if is_waiting and state.first_step.pool.idle:
            self.sources += seconds
        if state.blocked and state.budget.is_consumer_slow:
            self.consumer += seconds

    def of(self, pool: PoolState) -> PoolTimes:
        return self.pools.setdefault(pool.first, PoolTimes())

    def _sample_pool(self, pool: PoolState, seconds: float) -> None:
        times = self.of(pool)
        times.most = max(times.most, pool.ready)
        times.there += pool.ready * seconds
        bits = sum(step.bit for step in self.state.steps.values() if step.pool is pool)
        if self.state.blocked & bits:
            times.room += pool.idle * seconds
        else:
            times.input += pool.idle * seconds
        waiting = sum(
            worker.pool is pool and not worker.calls
            for node in self.state.nodes.values()
            for worker in (*node.priority_waiters, *node.waiters)
        )
        times.cpus += waiting * seconds


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step: tasks processed, seconds at work, and what its workers waited for.

    `workers` and the waiting times are 0 if shared workers run it (not `is_dedicated`).
    `cpu_share`: its share of all CPUs. `setup_s`: setup time of all workers together.
    """

    first: int
    name: str
    tasks: int
    given: int
    workers: int
    waiting_tasks: int
    busy_s: float
    there_s: float
    waited_for_input_s: float
    waited_for_room_s: float
    waited_for_cpus_s: float
    seconds_per_task: float
    cpu_share: float
    setup_s: float
    is_dedicated: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole run. `bottleneck` is empty if there was none; see `evidence` and `advice`."""

    steps: tuple[StepSummary, ...]
    seconds: float
    shared_workers: int
    shared_there_s: float
    shared_idle_s: float
    shared_waited_for_room_s: float
    shared_waited_for_cpus_s: float
    waited_for_sources_s: float
    waited_for_consumer_s: float
    peak_bytes: int
    bottleneck: str
    evidence: str
    advice: str


def summarize(state: SchedulerState, sampler: UtilizationSampler) -> Summary:
    bottleneck = find_bottleneck(state, sampler)
    shared = sampler.of(state.shared)
    return Summary(
        steps=tuple(_summarize_step(step, sampler) for step in state.steps.values()),
        seconds=sampler.seconds,
        shared_workers=shared.most,
        shared_there_s=shared.there,
        shared_idle_s=shared.input,
        shared_waited_for_room_s=shared.room,
        shared_waited_for_cpus_s=shared.cpus,
        waited_for_sources_s=sampler.sources,
        waited_for_consumer_s=sampler.consumer,
        peak_bytes=state.budget.peak,
        bottleneck=bottleneck.name,
        evidence=bottleneck.evidence,
        advice=bottleneck.advice,
    )


def _summarize_step(step: StepState, sampler: UtilizationSampler) -> StepSummary:
    is_dedicated = step.spec.is_dedicated
    times = sampler.of(step.pool) if is_dedicated else PoolTimes()
    cpu_s = step.busy_s * step.spec.need.cpus / UNIT
    return StepSummary(
        first=step.spec.first,
        name=step.spec.name,
        tasks=step.tasks_done,
        given=step.output_tasks,
        workers=times.most,
        waiting_tasks=step.queue.tasks,
        busy_s=step.busy_s,
        there_s=times.there,
        waited_for_input_s=times.input,
        waited_for_room_s=times.room,
        waited_for_cpus_s=times.cpus,
        seconds_per_task=step.busy_s / step.tasks_done if step.tasks_done else 0.0,
        cpu_share=min(1.0, cpu_s / sampler.cpu_seconds) if sampler.cpu_seconds else 0.0,
        setup_s=step.total_setup_s,
        is_dedicated=is_dedicated,
    )


# The bottleneck


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """`load`: the share of the time that it was busy, or kept others waiting."""

    name: str
    load: float
    evidence: str
    advice: str


def find_bottleneck(state: SchedulerState, sampler: UtilizationSampler) -> Bottleneck:
    """Return what was busy nearly all the time, which is what everything else waited for."""
    if sampler.seconds < _MIN_RUN_S:
        return Bottleneck("", 0.0, "the run was too short to tell", "")
    found = max(_candidates(state, sampler), key=lambda one: one.load)
    if found.load < _MIN_LOAD:
        evidence = f"nothing was busy more than {_percent(found.load)} of the time"
        return Bottleneck("", found.load, evidence, "")
    return found


def _candidates(state: SchedulerState, sampler: UtilizationSampler) -> Iterator[Bottleneck]:
    yield _sources(sampler)
    yield _consumer(sampler)
    if shared := state.shared_steps:
        yield _cpus(shared, state, sampler)
    for step in state.dedicated_steps:
        yield _workers(step, sampler)


def _sources(sampler: UtilizationSampler) -> Bottleneck:
    load = sampler.sources / sampler.seconds
    evidence = f"workers were idle for {_percent(load)} of the time until more sources arrived"
    return Bottleneck(SOURCES, load, evidence, "list faster, or fewer and larger sources")


def _consumer(sampler: UtilizationSampler) -> Bottleneck:
    load = sampler.consumer / sampler.seconds
    evidence = f"finished outputs were not taken for {_percent(load)} of the time"
    return Bottleneck(CONSUMER, load, evidence, "take them faster, or write them in a last stage")


def _cpus(
    shared: list[StepState], state: SchedulerState, sampler: UtilizationSampler
) -> Bottleneck:
    """Shared workers lack CPUs; name the stage that uses most of them."""
    work = sum(step.busy_s * step.spec.need.cpus / UNIT for step in shared)
    times = sampler.of(state.shared)
    load = work / sampler.cpu_seconds if sampler.cpu_seconds else 0.0
    if not work and times.there:  # stages that ask for no CPU: the number of workers is limited
        load = sum(step.busy_s for step in shared) / times.there
    load = min(load, 1.0)  # calls and CPUs are not sampled at the same moments
    largest = max(shared, key=lambda step: step.busy_s * max(step.spec.need.cpus, 1))
    name, share = _slowest_stage(largest, shared)
    cpus = largest.spec.need.cpus / UNIT
    evidence = f"the CPUs were busy {_percent(load)} of the time, {_percent(share)} of it in {name}"
    advice = (
        f"more CPUs, or a faster {name}, would help most; if it mostly waits (for a network, say), "
        f"let it request less than its cpus={cpus:g}"
    )
    return Bottleneck(name, load, evidence, advice)


def _slowest_stage(step: StepState, shared: list[StepState]) -> tuple[str, float]:
    """Return the slowest of the fused stages, and its share of all work."""
    first, names = step.spec.first, step.spec.names
    seconds = {s: t for s, t in step.stage_seconds.items() if 0 <= s - first < len(names)}
    stage = max(seconds, key=seconds.__getitem__, default=None)
    total = sum(s.busy_s * max(s.spec.need.cpus, 1) for s in shared) or 1.0
    share = step.busy_s * max(step.spec.need.cpus, 1) / total
    if stage is None:
        return step.spec.name, share
    return names[stage - first], share * seconds[stage] / (sum(seconds.values()) or 1.0)


def _workers(step: StepState, sampler: UtilizationSampler) -> Bottleneck:
    times, spec = sampler.of(step.pool), step.spec
    load = min(1.0, step.busy_s / times.there) if times.there else 0.0
    who = "its worker was" if times.most == 1 else f"its {times.most} workers were"
    evidence = f"{who} busy {_percent(load)} of the time"
    advice = f"more resources for it ({spec.need} each), or a faster {spec.name}, would help most"
    if spec.is_fixed:
        option = "num_workers" if spec.num_workers is not None else "workers_per_node"
        number = spec.num_workers or spec.workers_per_node
        advice = f"more workers would help: {option} fixes them at {number}"
    return Bottleneck(spec.name, load, evidence, advice)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
