"""Diagnosing: what held up the line, how that shows, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.needs import UNIT
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.waits import Waits

SOURCES = "the listing of sources"
CONSUMER = "whoever takes the outputs"

_TOO_LITTLE = 0.5
"""Something that was busy for less of the time did not hold up the line."""

_SHORT_S = 1.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`load`: the share of the time that it was at work, or kept the others waiting."""

    name: str
    load: float
    evidence: str
    advice: str


def diagnose(floor: Floor, waits: Waits) -> Diagnosis:
    """Whoever was at work nearly all the time is what the others waited for."""
    if waits.seconds < _SHORT_S:
        return Diagnosis("", 0.0, "the run was too short to tell", "")
    found = max(_candidates(floor, waits), key=lambda one: one.load)
    if found.load < _TOO_LITTLE:
        evidence = f"nothing was at work more than {_percent(found.load)} of the time"
        return Diagnosis("", found.load, evidence, "")
    return found


def _candidates(floor: Floor, waits: Waits) -> Iterator[Diagnosis]:
    yield _of_sources(waits)
    yield _of_consumer(waits)
    if shared := floor.shared_stations:
        yield _of_cpus(shared, floor, waits)
    for station in floor.stations.values():
        if station.crew is not floor.shared:
            yield _of_workers(station, waits)


def _of_sources(waits: Waits) -> Diagnosis:
    load = waits.sources / waits.seconds
    evidence = f"workers had nothing to do for {_percent(load)} of the time until it gave more"
    return Diagnosis(SOURCES, load, evidence, "list faster, or fewer and larger sources")


def _of_consumer(waits: Waits) -> Diagnosis:
    load = waits.consumer / waits.seconds
    evidence = f"finished outputs were not taken for {_percent(load)} of the time"
    return Diagnosis(CONSUMER, load, evidence, "take them faster, or write them in a last stage")


def _of_cpus(shared: list[Station], floor: Floor, waits: Waits) -> Diagnosis:
    """Shared workers are short of CPUs; who takes most of those is named."""
    work = sum(s.busy_s * s.spec.need.cpus / UNIT for s in shared)
    times = waits.of(floor.shared)
    load = work / waits.cpu_seconds if waits.cpu_seconds else 0.0
    if not work and times.there:  # stages that ask for no CPU: there is a limit to workers
        load = sum(s.busy_s for s in shared) / times.there
    load = min(load, 1.0)  # calls and CPUs are not counted at the same moments
    most = max(shared, key=lambda s: s.busy_s * max(s.spec.need.cpus, 1))
    name, share = _slowest_stage(most, shared)
    cpus = most.spec.need.cpus / UNIT
    evidence = (
        f"the CPUs were taken {_percent(load)} of the time, {_percent(share)} of it by {name}"
    )
    advice = (
        f"more CPUs, or a faster {name}, would help most; if it rather waits than computes, let it "
        f"ask for less than its cpus={cpus:g}"
    )
    return Diagnosis(name, load, evidence, advice)


def _slowest_stage(station: Station, shared: list[Station]) -> tuple[str, float]:
    """Of stages that run fused, the one that takes longest; and its share of all the work."""
    first, names, seconds = station.spec.first, station.spec.names, station.stage_seconds
    own = {stage: s for stage, s in seconds.items() if 0 <= stage - first < len(names)}
    stage = max(own, key=own.__getitem__, default=None)
    total = sum(s.busy_s * max(s.spec.need.cpus, 1) for s in shared) or 1.0
    share = station.busy_s * max(station.spec.need.cpus, 1) / total
    if stage is None:
        return station.spec.name, share
    return names[stage - first], share * own[stage] / (sum(own.values()) or 1.0)


def _of_workers(station: Station, waits: Waits) -> Diagnosis:
    """Workers of their own."""
    times, spec = waits.of(station.crew), station.spec
    load = min(1.0, station.busy_s / times.there) if times.there else 0.0
    plural = "s" * (times.most != 1)
    evidence = f"its {times.most} worker{plural} were at work {_percent(load)} of the time"
    evidence = evidence.replace("its 1 worker were", "its worker was")
    advice = f"more room for it ({spec.need} each), or a faster {spec.name}, would help most"
    if spec.num_workers is not None:
        advice = f"more workers would help: num_workers fixes them at {spec.num_workers}"
    return Diagnosis(spec.name, load, evidence, advice)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
