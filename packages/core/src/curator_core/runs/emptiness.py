"""Empty runs: no input, no output, or nothing kept, which is more often a mistake than meant."""

from typing import TYPE_CHECKING

from curator_core.errors import EmptyRunError
from curator_core.results import RunResult

if TYPE_CHECKING:
    from curator_core.runs.running import Run


def refuse_emptiness(run: "Run") -> None:
    """Raise where it is so, and say where it ends."""
    if not run.result.sources_done + run.result.sources_skipped:
        raise EmptyRunError(
            f"pipeline {run.plan.name!r} had nothing to do: its first stage found no sources. "
            "Check its paths, or set allow_empty (--allow-empty) where that is right"
        )
    last = run.totals[run.plan.stages[-1].index]
    dropped = sum(c.items_dropped + c.failures for c in run.totals.values())
    if not last.tasks_out and not dropped and run.worker_stages:
        raise EmptyRunError(
            f"pipeline {run.plan.name!r} gave nothing, though no stage dropped anything: "
            f"{_where_it_ends(run)}; set allow_empty (--allow-empty) where that is right"
        )


def describe_largest_drop(name: str, result: RunResult) -> str:
    """Say that nothing was kept, and which rule dropped most."""
    dropped = sum(counts.items_dropped for counts in result.stages.values())
    stage, counts = max(result.stages.items(), key=lambda found: found[1].items_dropped)
    reason = max(counts.reasons, key=lambda found: counts.reasons[found], default="no reason given")
    dropped_records = f"{dropped:,} {'record was' if dropped == 1 else 'records were'} dropped"
    return (
        f"{name!r} kept nothing: {dropped_records}, "
        f"{counts.items_dropped:,} of them by stage {stage!r} ({reason}). Loosen it, or set "
        "allow_empty (--allow-empty) if that is right"
    )


def _where_it_ends(run: "Run") -> str:
    first = run.worker_stages[0]
    if run.totals[first.index].tasks_out:
        return "check what its stages return"
    if first.index:
        return f"stage {first.name!r} found no records in its sources"
    return f"stage {first.name!r} returned no tasks"
