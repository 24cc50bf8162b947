"""Burdens: what the streaming executor bears: much data, workers that die, real work."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from statistics import median

import streaming_simulation
from measuring.cluster_jobs import run_cluster_job
from measuring.figures import Figure
from measuring.inputs import jsonl_files
from measuring.peers import CACHE
from measuring.rates import steady_rate
from streaming_engines import PEERS, Run, contest, ours
from streaming_races import unmeasured
from streaming_sizes import Sizes

MB = 1_000_000
MIB = 1 << 20
SPILLED_TASK = 4 * MIB


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder on the disk that holds the repository: a temporary one may lie in memory."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        yield Path(folder)


def memory(sizes: Sizes) -> list[Figure]:
    """Stages apart from each other, so that every array goes through the object store, twice.

    One worker per core: with more of them, longer runs would have had the time to start more. The
    baseline is the same run, of as many tasks, with 1 kB each.
    """

    def job(tasks: int, array_bytes: int) -> Callable[[], Run]:
        engine = ours(fuse=False)
        more = {"array_bytes": array_bytes, "cpus": 1.0}
        return lambda: engine.run("arrays", tasks, watch_memory=True, **more)

    large = {str(tasks): job(tasks, MIB) for tasks in sizes.memory}
    small = {f"{tasks} of 1 kB": job(tasks, 1024) for tasks in sizes.memory}
    held = contest(sizes.rounds, {**small, **large})
    what = "1 MB per task through 3 stages: peak memory of the process tree above that of 1 kB per"
    what += f" task, for {'/'.join(large)} tasks"
    target = "flat within 20 %"
    if held.failures:
        return [Figure(what, target, f"failed: {held.failures}", False)]
    peaks = {name: median(run.outcome.peak_bytes for run in runs) / MB
             for name, runs in held.runs.items()}  # fmt: skip
    above = [peaks[name] - peaks[base] for name, base in zip(large, small, strict=True)]
    spread = max(above) / max(min(above), 1.0)
    told = "/".join(f"{mb:.0f}" for mb in above)
    bases = "/".join(f"{peaks[name]:.0f}" for name in small)
    value = f"{spread - 1:+.0%} ({told} MB above {bases} MB)"
    is_whole = all(held.is_whole(name) for name in large)
    return [Figure(what, target, value, spread <= 1.2 and is_whole, dict(peaks))]


def spill(sizes: Sizes) -> list[Figure]:
    """One run: it is the longest."""
    tasks = int(sizes.spill_gb * 1e9 / SPILLED_TASK)
    engine = ours(fuse=False, object_store_gb=1.0, spilled=True)
    more = {"array_bytes": SPILLED_TASK, "cpus": 0.5}
    held = contest(1, {"ours": lambda: engine.run("arrays", tasks, watch_memory=True, **more)})
    what = f"{sizes.spill_gb:g} GB in {tasks:,} tasks through 3 stages and a 1 GB object store"
    target = "completes, bytes spilled printed"
    if "ours" in held.failures:
        return [unmeasured(what, target, held)]
    (run,) = held.runs["ours"]
    came = f"{run.facts['distinct']:,} of {tasks:,} out in {run.in_hand:.0f} s"
    value = f"{came}, {run.facts['spilled'] / MB:,.0f} MB spilled, "
    value += f"peak {run.outcome.peak_bytes / MB:,.0f} MB"
    return [Figure(what, target, value, run.is_whole, {"spilled": run.facts["spilled"]})]


def deaths(sizes: Sizes) -> list[Figure]:
    tasks = sizes.deaths
    held = contest(
        sizes.rounds,
        {
            "undisturbed": lambda: ours().run("mixed", tasks),
            "ours": lambda: ours(death_every_s=2.0).run("mixed", tasks),
        },
    )
    what = f"SIGKILL of a random worker every 2 s, {tasks} tasks of 5/40/10 ms"
    target = "0 lost, 0 doubled, <= 1.3x the undisturbed time"
    if held.failures:
        return [Figure(what, target, f"failed: {held.failures}", False)]
    took, calm = (median(map(_working, held.runs[name])) for name in ("ours", "undisturbed"))
    lost = sum(run.facts["tasks"] - run.facts["distinct"] for run in held.runs["ours"])
    doubled = sum(run.facts["outputs"] - run.facts["distinct"] for run in held.runs["ours"])
    killed = [run.facts["killed"] for run in held.runs["ours"]]
    value = f"{took / calm:.2f}x ({took:.1f} s, undisturbed {calm:.1f} s), {lost} lost, "
    value += f"{doubled} doubled, {'/'.join(map(str, killed))} workers killed"
    met = took <= 1.3 * calm and not lost and not doubled and min(killed) > 0
    return [Figure(what, target, value, met, {"killed": killed, **held.all_of("in_hand")})]


def _working(run: Run) -> float:
    """From the started cluster to the last output."""
    return run.in_hand - float(run.facts["cluster_up"])


def text(sizes: Sizes) -> list[Figure]:
    what = f"the rules of web_clean over {sizes.pages_mb:g} MB: steady rate against LocalExecutor"
    what += " with the same cores"
    rates: dict[str, list[float]] = {"ours": [], "local": []}
    kept = set()
    with workspace() as folder:
        raw = jsonl_files(folder / "raw", sizes.page_files, sizes.pages_mb)
        mb_per_file = sum(path.stat().st_size for path in raw.iterdir()) / MB / sizes.page_files
        for _ in range(sizes.rounds):
            for engine, measured in rates.items():
                rmtree(folder / "out", ignore_errors=True)
                script = PEERS / "clean_pages.py"
                facts = run_cluster_job(script, raw, folder / "out", engine).facts
                measured.append(steady_rate(facts["ends"]) * mb_per_file)
                kept.add(facts["kept"])
    mine, local = median(rates["ours"]), median(rates["local"])
    value = f"{mine / local:.2f}x ({mine:.1f} MB/s, local {local:.1f} MB/s)"
    value += "" if len(kept) == 1 else f"; they kept different documents: {sorted(kept)}"
    met = mine >= 0.95 * local and len(kept) == 1
    return [Figure(what, ">= .95x", value, met, dict(rates))]


def simulation(sizes: Sizes) -> list[Figure]:
    jobs = streaming_simulation.jobs(is_quick=not sizes.big_simulation)
    return [job() for job in jobs]
