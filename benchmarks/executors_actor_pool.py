"""What the actor pool executor is measured on, beside pools written directly on Ray."""

import sys
from collections.abc import Callable
from statistics import median

from executors_sizes import Sizes
from measuring.figures import Figure
from streaming_engines import BARE_RAY, CORES, Contest, Engine, Run, contest

SLOTS = CORES * 4
"""Workers of 0.25 CPU."""

MB = 1_000_000
ARRAY_BYTES = 4 << 20
PROCESSES_GB = 1.5
"""What a driver, Ray's own processes and the actors may hold beside the store."""

BATCH_STORES = 3
"""How many times the store goes through it all at once: the disk has to hold it."""

DIRECT = Engine("on ActorPool", "on_actor_pool.py", lambda: sys.executable)


def ours(**settings: object) -> Engine:
    return Engine("ours", "with_actor_pool.py", lambda: sys.executable, settings)


def pool_mixed(sizes: Sizes) -> list[Figure]:
    """From process start to exit: actors that start and end are a part of what pools cost."""
    held = contest(
        sizes.rounds,
        {
            "ours": lambda: ours().run("mixed", sizes.mixed),
            "batch": lambda: ours(config={"execution_mode": "batch"}).run("mixed", sizes.mixed),
            "direct": lambda: DIRECT.run("mixed", sizes.mixed),
        },
    )
    line = f"{sizes.mixed} tasks of 5/40/10 ms, {SLOTS} slots, stage after stage"
    return [
        _ratio(f"{line}: in rounds, against ActorPool", held, ("ours", "direct"), "seconds", 1.0),
        _ratio(f"{line}: all at once, against it", held, ("batch", "direct"), "seconds", 1.0),
        _ratio(f"{line}: CPU seconds, against it", held, ("ours", "direct"), "cpu_s", 1.0),
    ]


def pool_cold(sizes: Sizes) -> list[Figure]:
    held = contest(
        sizes.rounds,
        {
            "bare": lambda: BARE_RAY.run("cold", sizes.cold),
            "ours": lambda: ours().run("cold", sizes.cold),
            "direct": lambda: DIRECT.run("cold", sizes.cold),
        },
    )
    what = f"cold start: {sizes.cold} tasks through 2 stages that do nothing"
    return [
        _ratio(f"{what}, against ray.init + one call", held, ("ours", "bare"), "in_hand", 1.2),
        _ratio(f"{what}, against ActorPool", held, ("ours", "direct"), "in_hand", None),
    ]


def pool_memory(sizes: Sizes) -> list[Figure]:
    """One run each: they are the longest. Each array goes through the store twice."""
    less = min(sizes.flow_gb, BATCH_STORES * sizes.store_gb)
    return [
        _flow("in rounds", sizes.flow_gb, sizes.store_gb, "rounds"),
        _flow("all at once, by way of the disk", less, sizes.store_gb, "batch"),
    ]


def _flow(how: str, size_gb: float, store_gb: float, mode: str) -> Figure:
    tasks = int(size_gb * 1e9 / ARRAY_BYTES)
    engine = ours(object_store_gb=store_gb, spilled=True, config={"execution_mode": mode})
    more = {"array_bytes": ARRAY_BYTES, "cpus": 0.5}
    held = contest(1, {"ours": lambda: engine.run("arrays", tasks, watch_memory=True, **more)})
    what = f"{size_gb:g} GB in {tasks:,} tasks through a store of {store_gb:g} GB, {how}"
    most = store_gb + PROCESSES_GB
    target = f"completes, peak below {most:g} GB"
    if "ours" in held.failures:
        return _unmeasured(what, target, held)
    (run,) = held.runs["ours"]
    peak = run.outcome.peak_bytes
    value = f"{run.facts['distinct']:,} of {tasks:,} out in {run.in_hand:.0f} s, peak "
    value += f"{peak / MB:,.0f} MB, {run.facts['spilled'] / MB:,.0f} MB by way of the disk"
    met = run.is_whole and peak < most * 1e9
    return Figure(what, target, value, met, {"peak": peak, "spilled": run.facts["spilled"]})


def _ratio(
    what: str, held: Contest, names: tuple[str, str], measure: str, most: float | None
) -> Figure:
    target = "none" if most is None else f"<= {most:g}x"
    values = [held.runs.get(name) for name in names]
    if not all(values):
        return _unmeasured(what, target, held)
    mine, theirs = (median(_of(run, measure) for run in held.runs[name]) for name in names)
    value = f"{mine / theirs:.2f}x ({mine:.2f} s, {theirs:.2f} s)"
    met = None if most is None else mine <= most * theirs and held.is_whole(names[0])
    return Figure(what, target, value, met, held.all_of(measure))


def _of(run: Run, measure: str) -> float:
    return float(getattr(run, measure))


def _unmeasured(what: str, target: str, held: Contest) -> Figure:
    return Figure(what, target, f"failed: {held.failures}", False)


ROWS: dict[str, Callable[[Sizes], list[Figure]]] = {
    row.__name__: row for row in (pool_mixed, pool_cold, pool_memory)
}
