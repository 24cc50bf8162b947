"""Summaries: how busy each step's workers were, what they waited for, and what would help."""

from dataclasses import dataclass

from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.needs import UNIT
from curator_streaming.scheduling.stations import Station


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step: tasks through, seconds at work, and seconds its own workers waited for what."""

    first: int
    name: str
    tasks: int
    given: int
    workers: int
    waiting_tasks: int
    busy_s: float
    waited_for_input_s: float
    waited_for_room_s: float
    seconds_per_task: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole line. `shared_idle_s` are seconds that shared workers had nothing to do."""

    steps: tuple[StepSummary, ...]
    shared_workers: int
    shared_idle_s: float
    peak_bytes: int
    bottleneck: str
    advice: str


def summary_of(floor: Floor, shared_idle_s: float) -> Summary:
    stations = list(floor.stations.values())
    slowest = max(stations, key=lambda s: _load(floor, s))
    return Summary(
        steps=tuple(_step(s) for s in stations),
        shared_workers=floor.shared.staying,
        shared_idle_s=shared_idle_s,
        peak_bytes=floor.peak,
        bottleneck=slowest.spec.name,
        advice=_advice(floor, slowest),
    )


def _step(station: Station) -> StepSummary:
    return StepSummary(
        first=station.spec.first,
        name=station.spec.name,
        tasks=station.done,
        given=station.given,
        workers=station.crew.staying if station.spec.is_dedicated else 0,
        waiting_tasks=station.queue.tasks,
        busy_s=station.busy_s,
        waited_for_input_s=station.idle_s,
        waited_for_room_s=station.blocked_s,
        seconds_per_task=station.busy_s / station.done if station.done else 0.0,
    )


def _load(floor: Floor, station: Station) -> float:
    """Seconds at work for each worker or CPU of the step: the bottleneck has most."""
    if station.crew is not floor.shared:
        return station.busy_s / max(station.crew.staying, 1)
    cpus = sum(node.cpus for node in floor.nodes.values()) or UNIT
    every = [s for s in floor.stations.values() if s.crew is floor.shared]
    busy = sum(s.busy_s * s.spec.need.cpus for s in every) / cpus
    mine = station.busy_s * station.spec.need.cpus
    total = sum(s.busy_s * s.spec.need.cpus for s in every) or 1.0
    return busy * (0.5 + 0.5 * mine / total)


def _advice(floor: Floor, slowest: Station) -> str:
    if not slowest.done:
        return ""
    if slowest.crew is floor.shared:
        names = slowest.spec.names
        seconds = slowest.stage_seconds
        own = [stage for stage in seconds if 0 <= stage - slowest.spec.first < len(names)]
        stage = max(own, key=seconds.__getitem__, default=None)  # it may have been split since
        name = slowest.spec.name if stage is None else names[stage - slowest.spec.first]
        return f"more CPUs, or a faster {name}, would help most"
    if slowest.spec.num_workers is not None:
        return (
            f"more workers would help: {slowest.spec.name} is fixed at {slowest.spec.num_workers}"
        )
    return f"more room for {slowest.spec.name} ({slowest.spec.need} each) would help most"
