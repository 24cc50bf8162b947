"""Failure budget: compare failures of a run with what it tolerates; detect empty results."""

from collections.abc import Callable, Sequence

from curator_core.errors import BudgetError, EmptyRunError
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import Part
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.run.ledger import Totals
from curator_core.run.result import RunResult


class FailureCounter:
    """Counts failures of this attempt, and ends the run if there are too many."""

    def __init__(self, plan: Plan, run_dir: str | None) -> None:
        self._plan = plan
        self._run_dir = run_dir
        self._seen: Totals = {}

    def forget(self, part: Part) -> None:
        """Subtract the failures of an attempt that is run again."""
        for index, less in part.counts.items():
            self._seen.setdefault(index, StageCounts()).subtract_numbers(less)

    def add(self, part: Part) -> None:
        budget = self._plan.budget
        for index, more in part.counts.items():
            seen = self._seen.setdefault(index, StageCounts())
            seen.add(more)
            if not more.failures:
                continue
            records = _records(seen)
            if (
                budget.is_exceeded(seen.tasks_failed, seen.tasks_in)
                or budget.is_exceeded(seen.items_rejected, records)
                or self._is_count_exceeded()
            ):
                self._raise_over_budget(index, seen, part)

    def check_at_end(
        self, totals: Totals, quarantined: Callable[[], list[QuarantineRecord]]
    ) -> None:
        """Check the failures of the whole run once it is over, however small it was."""
        is_exceeded = self._plan.budget.is_exceeded_at_the_end
        for planned in self._plan.stages:
            counts = totals[planned.index]
            records = _records(counts)
            if is_exceeded(counts.tasks_failed, counts.tasks_in) or is_exceeded(
                counts.items_rejected, records
            ):
                mine = [record for record in quarantined() if record.stage_index == planned.index]
                raise BudgetError(self._describe_failures(planned.name, counts, mine))

    def _describe_failures(
        self, stage: str, counts: StageCounts, found: list[QuarantineRecord]
    ) -> str:
        last = found[-1] if found else None
        place = f" ({last.source})" if last and last.source not in last.reason else ""
        example = f": {last.reason}{place}" if last else ""
        where = f" See {self._run_dir}/quarantine." if self._run_dir else ""
        can_help = self._run_dir and any(record.is_worth_retrying for record in found)
        call = f"curate retry {self._run_dir}" if self._plan.recipe else "Pipeline.retry"
        retry = f", or {call}" if can_help else ""
        rejected = f" and rejected {counts.items_rejected} records" * bool(counts.items_rejected)
        return (
            f"most tasks failed: stage {stage!r} failed on {counts.tasks_failed} of "
            f"{counts.tasks_in} tasks{rejected}{example}.{where} Fix the cause and run again "
            f"(changed inputs are detected){retry}; if this is expected, set max_failures or "
            "allow_empty (--allow-empty)"
        )

    def _is_count_exceeded(self) -> bool:
        limit = self._plan.budget.max_failures
        failures = sum(counts.failures for counts in self._seen.values())
        return isinstance(limit, int) and failures > limit

    def _raise_over_budget(self, index: int, seen: StageCounts, part: Part) -> None:
        reasons = [r.reason for r in part.quarantined if r.stage_index == index]
        last = f" (the last one: {reasons[-1]})" if reasons else ""
        limit = self._plan.budget.max_failures
        where = f" See {self._run_dir}/quarantine." if self._run_dir else ""
        raise BudgetError(
            f"too many failures: stage {self._plan.stages[index].name!r} failed on "
            f"{seen.tasks_failed} of {seen.tasks_in} tasks and rejected {seen.items_rejected} "
            f"records, more than max_failures={limit} allows{last}.{where} "
            "Fix the cause or raise max_failures, then run the same command: what is finished "
            "is kept"
        )


def _records(counts: StageCounts) -> int:
    """Return the number of records: a reader's output or a writer's input, as both handle files."""
    return max(counts.items_in, counts.items_out + counts.items_rejected)


def refuse_empty_run(
    plan: Plan, worker_stages: Sequence[PlannedStage], result: RunResult, totals: Totals
) -> None:
    """Raise if the run found no sources, or if tasks disappeared; say at which stage."""
    if not result.sources_done + result.sources_skipped:
        raise EmptyRunError(
            f"pipeline {plan.name!r} had nothing to do: its first stage found no sources. "
            "Check its paths, or set allow_empty (--allow-empty) if that is expected"
        )
    last = totals[plan.stages[-1].index]
    dropped = sum(c.items_dropped + c.failures for c in totals.values())
    if not last.tasks_out and not dropped and worker_stages:
        raise EmptyRunError(
            f"pipeline {plan.name!r} returned nothing, although no stage dropped anything: "
            f"{_where_it_ends(worker_stages[0], totals)}; set allow_empty (--allow-empty) if that "
            "is expected"
        )


def describe_largest_drop(name: str, result: RunResult) -> str:
    """Return the warning that nothing was kept, with the rule that dropped most."""
    dropped = sum(counts.items_dropped for counts in result.stages.values())
    stage, counts = max(result.stages.items(), key=lambda found: found[1].items_dropped)
    reason = max(counts.reasons, key=lambda found: counts.reasons[found], default="no reason given")
    dropped_records = f"{dropped:,} {'record was' if dropped == 1 else 'records were'} dropped"
    return (
        f"{name!r} kept nothing: {dropped_records}, "
        f"{counts.items_dropped:,} of them by stage {stage!r} ({reason}). Loosen it, or set "
        "allow_empty (--allow-empty) if that is right"
    )


def _where_it_ends(first: PlannedStage, totals: Totals) -> str:
    if totals[first.index].tasks_out:
        return "check what its stages return"
    if first.index:
        return f"stage {first.name!r} found no records in its sources"
    return f"stage {first.name!r} returned no tasks"
