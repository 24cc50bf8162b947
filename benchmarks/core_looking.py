"""What it costs to be looked at: reports of many events; events, metrics and journal of a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Protocol

from measuring.figures import Figure
from measuring.inputs import jsonl_files
from measuring.peers import CACHE
from measuring.timing import in_turns, run_job

MB = 1_000_000


class Sizes(Protocol):
    """How much work each figure is measured on."""

    @property
    def rounds(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def watched_mb(self) -> float: ...


@contextmanager
def _workspace() -> Iterator[Path]:
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        yield Path(folder)


def report_of_events(sizes: Sizes) -> Figure:
    """The growth is that of a tenth of the events against all of them: it should be none."""
    with _workspace() as folder:
        run_job("report_events.py", sizes.events, 12, folder / "all")
        run_job("report_events.py", sizes.events // 10, 12, folder / "tenth")
        whole = run_job("report_events.py", sizes.events, 12, folder / "all").facts
        tenth = run_job("report_events.py", sizes.events // 10, 12, folder / "tenth").facts
    seconds, page = whole["seconds"], whole["page_bytes"] / MB
    grown, less = whole["grown"] / MB, tenth["grown"] / MB
    return Figure(
        f"report of a run with {sizes.events:,} events of sources",
        "<= 10 s, < 3 MB, bounded memory",
        f"{seconds:.1f} s ({whole['cpu_s']:.1f} CPU s), {page:.2f} MB; memory grew by "
        f"{grown:.0f} MB, by {less:.0f} MB with a tenth of the events",
        seconds <= 10 and page < 3 and grown < less + 30,
        {"whole": whole, "tenth": tenth},
    )


def cost_of_looking(sizes: Sizes) -> Figure:
    with _workspace() as folder:
        raw = jsonl_files(folder / "raw", 8, sizes.watched_mb)

        def job(how: str) -> Callable[[], float]:
            def once() -> float:
                rmtree(folder / "run", ignore_errors=True)
                facts = run_job("rules_looked_at.py", raw, folder / "run", how).facts
                documents.add(facts["documents"])
                return float(facts["cpu_s"])

            return once

        documents: set[int] = set()
        jobs = {how: job(how) for how in ("watched", "bare")}
        medians, all_of_them = in_turns(jobs, sizes.rounds)
    if len(documents) != 1:
        raise AssertionError(f"both should keep the same documents, but kept {documents}")
    cost = 100 * (medians["watched"] / medians["bare"] - 1)
    return Figure(
        "events, metrics and journal, of the CPU time of rules over text",
        "<= 2 %",
        f"{cost:+.1f} % ({medians['watched']:.2f} s against {medians['bare']:.2f} s, medians)",
        cost <= 2,
        all_of_them,
    )
