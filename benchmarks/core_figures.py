"""The figures of the foundation, each measured by one function."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from core_looking import cost_of_looking, report_of_events
from measuring.figures import Figure
from measuring.inputs import REPOSITORY, fingerprint_of, jsonl_files
from measuring.peers import (
    CACHE,
    PeerMissingError,
    build_wheels,
    clean_python,
    installed_bytes,
    peer_python,
)
from measuring.timing import in_turns, run_job

MB = 1_000_000
HEAVY = ("ray", "torch", "pandas", "pyarrow.dataset")


@dataclass(frozen=True)
class Sizes:
    """How much work each figure is measured on."""

    rounds: int = 5
    imports: int = 15
    tasks: int = 20_000
    sources: int = 2000
    start_mb: float = 10
    clean_mb: float = 60
    copy_mb: float = 200
    memory_mb: float = 100
    events: int = 1_000_000
    watched_mb: float = 150


QUICK = Sizes(rounds=1, imports=3, tasks=500, sources=50, start_mb=0.5, clean_mb=2, copy_mb=24,
              memory_mb=1, events=20_000, watched_mb=1)  # fmt: skip


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder on the disk that holds the repository: a temporary one may lie in memory."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        yield Path(folder)


def import_time(sizes: Sizes) -> Figure:
    def python(code: str) -> Callable[[], float]:
        def once() -> float:
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            return time.perf_counter() - started

        return once

    jobs = {"bare": python("pass"), "ours": python("import curator_core")}
    medians, all_of_them = in_turns(jobs, sizes.imports)
    seconds = medians["ours"] - medians["bare"]
    code = f"import curator_core, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    heavy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = heavy.stdout.strip()
    return Figure(
        "import curator_core, above bare Python",
        "<= 0.15 s, no ray, torch, pandas",
        f"{seconds:.3f} s" + ("" if found == "[]" else f", with {found}"),
        seconds <= 0.15 and found == "[]",
        all_of_them,
    )


def installed_size(sizes: Sizes) -> Figure:
    what, target = "curator-core + curator-text wheels, installed", "<= 300 MB, no torch, no ray"
    with workspace() as folder:
        try:
            packages = [REPOSITORY / "packages" / name for name in ("core", "models", "text")]
            wheels = build_wheels(packages, folder / "wheels")
            python = clean_python(folder / "venv")
            install = [python, "-m", "pip", "install", "--quiet", *map(str, wheels)]
            subprocess.run(install, check=True)
        except subprocess.CalledProcessError as error:
            return Figure(what, target, f"pip failed: {error}", None)
        listing = [python, "-m", "pip", "list", "--format", "freeze"]
        listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
        names = {line.partition("==")[0].lower() for line in listed.split()}
        unwanted = sorted(names & {"torch", "ray"})
        size = installed_bytes(python)
    value = f"{size / MB:.0f} MB" + (f", with {unwanted}" if unwanted else "")
    return Figure(what, target, value, size <= 300 * MB and not unwanted, {"bytes": size})


def cost_per_task(sizes: Sizes) -> Figure:
    stages = 10

    def once() -> float:
        facts = run_job("pass_tasks_on.py", sizes.tasks, stages).facts
        assert facts["tasks"] == sizes.tasks
        return float(facts["seconds"]) / sizes.tasks / (stages + 1) * 1e6

    medians, all_of_them = in_turns({"us": once}, sizes.rounds)
    value = medians["us"]
    what = "in-process cost per task and stage (no-op stages)"
    return Figure(what, "<= 25 us", f"{value:.1f} us", value <= 25, all_of_them)


def first_output(sizes: Sizes) -> Figure:
    with workspace() as folder:
        raw = jsonl_files(folder / "raw", 4, sizes.start_mb)

        def once() -> float:
            rmtree(folder / "out", ignore_errors=True)
            return float(run_job("give_first_output.py", raw, folder / "out").facts["seconds"])

        medians, all_of_them = in_turns({"s": once}, sizes.rounds)
    seconds = medians["s"]
    what = "first output of a 3-stage JSONL job, from process start, local executor"
    return Figure(what, "<= 1 s", f"{seconds:.2f} s", seconds <= 1, all_of_them)


def two_workers(sizes: Sizes) -> Figure:
    with workspace() as folder:
        raw = jsonl_files(folder / "raw", 24, sizes.clean_mb)
        kept = set()

        def with_workers(number: int) -> Callable[[], float]:
            def once() -> float:
                rmtree(folder / "out", ignore_errors=True)
                facts = run_job("clean_pages.py", raw, folder / "out", number).facts
                kept.add(facts["kept"])
                return float(facts["seconds"])

            return once

        jobs = {"1": with_workers(1), "2": with_workers(2)}
        medians, all_of_them = in_turns(jobs, max(1, sizes.rounds - 2))
    speedup = medians["1"] / medians["2"]
    return Figure(
        "two workers against one, CPU-bound stages (the rules of web_clean)",
        ">= 1.8x",
        f"{speedup:.2f}x ({medians['1']:.1f} s, {medians['2']:.1f} s)",
        speedup >= 1.8 and len(kept) == 1,
        all_of_them,
    )


def copy_speed(sizes: Sizes) -> Figure:
    what, target = "JSONL read -> JSONL write, one process, MB/s", ">= 3x datatrove"
    with workspace() as folder:
        raw = jsonl_files(folder / "raw", 8, sizes.copy_mb)
        size = sum(path.stat().st_size for path in raw.iterdir()) / MB
        truth = fingerprint_of(raw)

        def copy(script: str, python: str, *options: object) -> Callable[[], float]:
            def once() -> float:
                rmtree(folder / "out", ignore_errors=True)
                outcome = run_job(script, raw, folder / "out", *options, python=python)
                assert fingerprint_of(folder / "out") == truth, f"{script} changed the documents"
                return size / float(outcome.facts["seconds"])

            return once

        jobs = {"curator": copy("copy_with_curator.py", sys.executable, 0)}
        try:
            python = peer_python("datatrove", "datatrove[io]", "orjson")
            jobs["datatrove"] = copy("copy_with_datatrove.py", python)
        except PeerMissingError as missing:
            medians, all_of_them = in_turns(jobs, sizes.rounds)
            value = f"{medians['curator']:.0f} MB/s; no peer to compare with: {missing}"
            return Figure(what, target, value, None, all_of_them)
        medians, all_of_them = in_turns(jobs, sizes.rounds)
    ours, theirs = medians["curator"], medians["datatrove"]
    value = f"{ours / theirs:.1f}x ({ours:.0f} MB/s, datatrove {theirs:.0f} MB/s)"
    return Figure(what, target, value, ours >= 3 * theirs, all_of_them)


def memory_growth(sizes: Sizes) -> Figure:
    with workspace() as folder:

        def peak(times: int) -> Callable[[], float]:
            raw = jsonl_files(folder / f"raw-{times}", 1, sizes.memory_mb * times)

            def once() -> float:
                rmtree(folder / "out", ignore_errors=True)
                arguments = (raw, folder / "out", 2)
                return (
                    run_job("copy_with_curator.py", *arguments, watch_memory=True).peak_bytes / MB
                )

            return once

        jobs = {"1x": peak(1), "20x": peak(20)}
        medians, all_of_them = in_turns(jobs, max(1, sizes.rounds - 2))
    growth = medians["20x"] / medians["1x"]
    return Figure(
        f"memory of that job, 2 workers, one file of {sizes.memory_mb:g} MB and of 20 times that",
        "flat, within 20 %",
        f"{medians['1x']:.0f} MB, then {medians['20x']:.0f} MB: {growth - 1:+.0%}",
        growth <= 1.2,
        all_of_them,
    )


def cost_per_source(sizes: Sizes) -> Figure:
    with workspace() as folder:

        def remember(run_dir: str) -> Callable[[], float]:
            def once() -> float:
                rmtree(folder / "run", ignore_errors=True)
                facts = run_job("remember_sources.py", sizes.sources, run_dir).facts
                assert facts["sources"] == sizes.sources
                return float(facts["seconds"]) / sizes.sources * 1000

            return once

        jobs = {"kept": remember(str(folder / "run")), "not kept": remember("-")}
        medians, all_of_them = in_turns(jobs, sizes.rounds)
    cost = medians["kept"]
    return Figure(
        "run journal and ids: cost per source, durable",
        "<= 1 ms",
        f"{cost:.2f} ms (of it {medians['not kept']:.2f} ms with no journal)",
        cost <= 1,
        all_of_them,
    )


ALL: dict[str, Callable[[Sizes], Figure]] = {
    "import": import_time,
    "install": installed_size,
    "task": cost_per_task,
    "start": first_output,
    "workers": two_workers,
    "copy": copy_speed,
    "memory": memory_growth,
    "source": cost_per_source,
    "report": report_of_events,
    "looking": cost_of_looking,
}
