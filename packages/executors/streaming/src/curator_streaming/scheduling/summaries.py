"""Summaries: how busy each step's workers were, and what they waited for."""

from dataclasses import dataclass

from curator_streaming.scheduling.diagnosing import Diagnosis, diagnose
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.needs import UNIT
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.waits import Waits


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step: tasks through, seconds at work, and seconds its own workers waited for what.

    `setup_s`: what it took to set it up, in all workers together.
    `workers` and what they waited for are 0 where the work is done by shared workers, that is
    unless it `is_dedicated`;
    `cpu_share` is what the step took of all CPUs.
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
    """The whole line. `shared_idle_s`: of the seconds that shared workers were there, those in
    which they had nothing to do.

    `bottleneck` is empty where nothing held up the line; `evidence` says how that shows, and
    `advice` what would help.
    """

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


def summary_of(floor: Floor, waits: Waits) -> Summary:
    found: Diagnosis = diagnose(floor, waits)
    shared = waits.of(floor.shared)
    return Summary(
        steps=tuple(_step(s, waits) for s in floor.stations.values()),
        seconds=waits.seconds,
        shared_workers=shared.most,
        shared_there_s=shared.there,
        shared_idle_s=shared.input,
        shared_waited_for_room_s=shared.room,
        shared_waited_for_cpus_s=shared.cpus,
        waited_for_sources_s=waits.sources,
        waited_for_consumer_s=waits.consumer,
        peak_bytes=floor.peak,
        bottleneck=found.name,
        evidence=found.evidence,
        advice=found.advice,
    )


def _step(station: Station, waits: Waits) -> StepSummary:
    is_dedicated = station.spec.is_dedicated
    times = waits.of(station.crew)
    cpus = station.spec.need.cpus / UNIT
    return StepSummary(
        first=station.spec.first,
        name=station.spec.name,
        tasks=station.done,
        given=station.given,
        workers=times.most if is_dedicated else 0,
        waiting_tasks=station.queue.tasks,
        busy_s=station.busy_s,
        there_s=times.there if is_dedicated else 0.0,
        waited_for_input_s=times.input if is_dedicated else 0.0,
        waited_for_room_s=times.room if is_dedicated else 0.0,
        waited_for_cpus_s=times.cpus if is_dedicated else 0.0,
        seconds_per_task=station.busy_s / station.done if station.done else 0.0,
        cpu_share=min(1.0, cpus * station.busy_s / waits.cpu_seconds) if waits.cpu_seconds else 0.0,
        setup_s=station.all_setups_s,
        is_dedicated=is_dedicated,
    )
