"""Emptiness: a run that had nothing to do, or gave nothing, is more likely a mistake than meant."""

from typing import TYPE_CHECKING

from curator_core.errors import EmptyRunError

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


def _where_it_ends(run: "Run") -> str:
    first = run.worker_stages[0]
    if run.totals[first.index].tasks_out:
        return "check what its stages return"
    if first.index:
        return f"stage {first.name!r} found no records in its sources"
    return f"stage {first.name!r} returned no tasks"
