"""Measures the actor pool executor: `python benchmarks/executors_actor_pool.py [--quick]`.

Every run is a process of its own with a Ray of its own, engines take turns, and the median counts.
`hatch run bench:executors` measures it with the others.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from measuring.figures import Figure, show
from streaming_engines import BARE_RAY, CORES, Contest, Engine, Run, contest

SLOTS = CORES * 4
"""Workers of 0.25 CPU."""

MB = 1_000_000
ARRAY_BYTES = 4 << 20
STORE_GB = 1.0
PEAK_GB = 2.5
"""The store itself, and as much again for the processes: a driver, Ray's own, and the actors."""

DIRECT = Engine("on ActorPool", "on_actor_pool.py", lambda: sys.executable)


def ours(**settings: object) -> Engine:
    return Engine("ours", "with_actor_pool.py", lambda: sys.executable, settings)


@dataclass(frozen=True)
class PoolSizes:
    rounds: int = 3
    mixed: int = 600
    cold: int = 10
    flow_gb: float = 10.0
    batch_gb: float = 3.0


QUICK_POOL = PoolSizes(rounds=1, mixed=60, flow_gb=1.5, batch_gb=1.5)


def pool_mixed(sizes: PoolSizes) -> list[Figure]:
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


def pool_cold(sizes: PoolSizes) -> list[Figure]:
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


def pool_memory(sizes: PoolSizes) -> list[Figure]:
    """One run each: they are the longest. Each array goes through the store twice."""
    return [
        _flow("in rounds", sizes.flow_gb, "rounds"),
        _flow("all at once, by way of the disk", sizes.batch_gb, "batch"),
    ]


def _flow(how: str, size_gb: float, mode: str) -> Figure:
    tasks = int(size_gb * 1e9 / ARRAY_BYTES)
    engine = ours(object_store_gb=STORE_GB, spilled=True, config={"execution_mode": mode})
    more = {"array_bytes": ARRAY_BYTES, "cpus": 0.5}
    held = contest(1, {"ours": lambda: engine.run("arrays", tasks, watch_memory=True, **more)})
    what = f"{size_gb:g} GB in {tasks:,} tasks through a store of {STORE_GB:g} GB, {how}"
    target = f"completes, peak below {PEAK_GB:g} GB"
    if "ours" in held.failures:
        return _unmeasured(what, target, held)
    (run,) = held.runs["ours"]
    peak = run.outcome.peak_bytes
    value = f"{run.facts['distinct']:,} of {tasks:,} out in {run.in_hand:.0f} s, peak "
    value += f"{peak / MB:,.0f} MB, {run.facts['spilled'] / MB:,.0f} MB by way of the disk"
    met = run.is_whole and peak < PEAK_GB * 1e9
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


POOL_ROWS: dict[str, Callable[[PoolSizes], list[Figure]]] = {
    row.__name__: row for row in (pool_mixed, pool_cold, pool_memory)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(POOL_ROWS)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.rows if name not in POOL_ROWS]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(POOL_ROWS)}")
    sizes = QUICK_POOL if wanted.quick else PoolSizes()
    figures = [one for name in wanted.rows or POOL_ROWS for one in POOL_ROWS[name](sizes)]
    show(figures)
    return 0 if all(figure.met is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
