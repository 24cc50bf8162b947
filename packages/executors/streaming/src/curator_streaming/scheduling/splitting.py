"""Splitting: a stage turned out to make several tasks of one, so its step ends with it."""

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.steps import split


def split_station(floor: Floor, station: Station, last: int) -> None:
    """From the next call on, what comes out of the stage at `last` is spread over all workers."""
    if station.crew is not floor.shared:
        return
    name = station.spec.names[last - station.spec.first]
    station.spec, rest = split(station.spec, last)
    station.memory = (
        station.memory * len(station.spec.names) // (len(station.spec.names) + len(rest.names))
    )
    behind = floor.add(rest)
    behind.setup_s = station.setup_s
    for node in floor.nodes.values():
        if node.fits & station.bit:
            node.fits |= behind.bit
    for worker in floor.shared.workers.values():
        if worker.warm & station.bit:
            _share_memory(worker.holds, station, behind)
            worker.warm |= behind.bit
            behind.warm += 1
    station.cost = station.out_bytes = None
    station.done = station.given = 0
    station.most_per_call = 8
    reason = f"{name} makes several tasks of one: what follows it is run apart from it"
    floor.out.append(Explain("split", reason, station.spec.first))


def _share_memory(holds: dict[int, int], station: Station, behind: Station) -> None:
    """What a worker holds for the old step is held for its two parts."""
    first = station.spec.first
    mine = holds[first] * len(station.spec.names)
    mine //= len(station.spec.names) + len(behind.spec.names)
    holds[behind.spec.first] = holds[first] - mine
    holds[first] = mine
