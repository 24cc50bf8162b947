"""The Ray Data executor: against Ray Data itself, from a cold start, and with a small store."""

import sys
from collections.abc import Callable
from typing import Any

from executors_sizes import Sizes
from measuring.figures import Figure
from streaming_engines import BARE_RAY, Contest, Engine, contest, ray_data

MB = 1_000_000
ARRAY_BYTES = 4 << 20
NAME, PEER, FINE = "ray_data executor", "Ray Data", "Ray Data, a task per block"


def ours(**settings: Any) -> Engine:
    return Engine(NAME, "with_curator_ray_data.py", _python, settings)


def _python() -> str:
    return sys.executable


def _beside(held: Contest, measure: str, names: list[str]) -> str:
    told = []
    for name in names:
        value = held.median_of(name, measure)
        told.append(f"{name} {value:.1f}" if value is not None else f"{name} failed")
    return ", ".join(told)


def _ratio(
    held: Contest, what: str, measure: str, peers: list[str], most: float, target: str
) -> Figure:
    """How many times what the quickest of the peers took."""
    mine = held.median_of(NAME, measure)
    known = [value for name in peers if (value := held.median_of(name, measure)) is not None]
    told = _beside(held, measure, [NAME, *peers])
    if mine is None or not known:
        return Figure(what, target, f"failed: {held.failures}", False, held.all_of(measure))
    met = mine <= most * min(known) and held.is_whole(NAME)
    value = f"{mine / min(known):.2f}x ({told})"
    return Figure(what, target, value, met, held.all_of(measure))


def ray_data_mixed(sizes: Sizes) -> list[Figure]:
    """The same functions through both, from process start to process end."""
    tasks = sizes.mixed
    held = contest(
        sizes.rounds,
        {
            NAME: lambda: ours().run("mixed", tasks),
            PEER: lambda: ray_data().run("mixed", tasks),
            FINE: lambda: ray_data(blocks=tasks).run("mixed", tasks),
        },
    )
    line = f"ray_data, {tasks} tasks of 5/40/10 ms with 0.25 CPU"
    target, peers = "<= 1.1x", [PEER, FINE]
    cpu = _ratio(held, f"{line}: CPU seconds of the process tree", "cpu_s", peers, 1.1, "none")
    return [
        _ratio(held, f"{line}: end to end, s, against Ray Data", "seconds", peers, 1.1, target),
        Figure(cpu.what, "none", cpu.value, None, cpu.details),
    ]


def ray_data_cold(sizes: Sizes) -> list[Figure]:
    """The same work written in Ray Data stands beside. At each job that starts actors of its own,
    each a process that imports Ray Data before it says anything; on private clusters we do not.
    """
    return [_cold(sizes, 1.0, "<= 1.2x of ray.init + one actor call"), _cold(sizes, 0.25, None)]


def _cold(sizes: Sizes, cpus: float, target: str | None) -> Figure:
    """A whole CPU is what a stage asks for that says nothing; of quarters there are 8 workers."""
    tasks, bare = sizes.cold, "bare Ray"
    held = contest(
        sizes.rounds,
        {
            bare: lambda: BARE_RAY.run("cold", tasks),
            NAME: lambda: ours().run("cold", tasks, cpus=cpus),
            PEER: lambda: ray_data().run("cold", tasks, cpus=cpus),
        },
    )
    what = f"ray_data, cold start: {tasks} tasks through 2 stages that do nothing, of {cpus:g} CPU"
    figure = _ratio(held, what, "in_hand", [bare], 1.2, target or "none")
    value = f"{figure.value} s; {_beside(held, 'in_hand', [PEER])}"
    met = figure.met if target else None
    return Figure(figure.what, target or "none", value, met, figure.details)


def ray_data_flow(sizes: Sizes) -> list[Figure]:
    """One run: it is the longest. Each array is put into the store twice."""
    tasks = int(sizes.flow_gb * 1e9 / ARRAY_BYTES)
    engine = ours(apart=True, object_store_gb=sizes.store_gb, spilled=True, blocks=tasks)
    more = {"array_bytes": ARRAY_BYTES, "cpus": 0.5}
    held = contest(1, {NAME: lambda: engine.run("arrays", tasks, watch_memory=True, **more)})
    what = f"ray_data, {sizes.flow_gb:g} GB in {tasks:,} tasks through 3 stages and a "
    what += f"{sizes.store_gb:g} GB object store"
    target = "bounded memory, run completes"
    if NAME in held.failures:
        return [Figure(what, target, f"failed: {held.failures[NAME]}", False)]
    (run,) = held.runs[NAME]
    value = f"{run.facts['distinct']:,} of {tasks:,} out in {run.in_hand:.0f} s, "
    value += f"{run.facts['spilled'] / MB:,.0f} MB spilled, "
    value += f"peak {run.outcome.peak_bytes / MB:,.0f} MB"
    return [Figure(what, target, value, run.is_whole, {"spilled": run.facts["spilled"]})]


ROWS: dict[str, Callable[[Sizes], list[Figure]]] = {
    row.__name__: row for row in (ray_data_mixed, ray_data_cold, ray_data_flow)
}
