"""A run: what executors take sources from, and tell what became of them."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace

from curator_core.blame import Blame
from curator_core.errors import CuratorError, EmptyRunError, RunInterrupted, StageError
from curator_core.failing import reason_of
from curator_core.lineage import Lineage, source_of, whole
from curator_core.outcomes import AnyTask
from curator_core.plans import Plan, PlannedStage
from curator_core.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.reports import CallReport
from curator_core.results import QuarantineRecord, RunResult, StageCounts, payload_of
from curator_core.runs.events import Events
from curator_core.runs.failures import Failures
from curator_core.runs.keeping import Keeper
from curator_core.runs.ledger import Group, Ledger
from curator_core.runs.listing import Listing, Source
from curator_core.runs.reviewing import Review
from curator_core.runs.stopping import Stopping
from curator_core.runs.totals import add_to, take_from

LOG = logging.getLogger("curator_core")

LOOK_AHEAD_S = 0.02
MOST_AHEAD = 20_000
"""Sources that are listed and wait in memory: enough to tell how long a run will take."""


class Run:
    """The accounts of one execution of a plan.

    An executor takes `sources()`, gives back outputs with `deliver` and reports with `absorb`, and
    passes on what these two return: outputs that may be shown, because their files are in place.
    """

    def __init__(self, plan: Plan, listing: Listing, keeper: Keeper) -> None:
        self.plan = plan
        self.token = keeper.token
        self.stopping = Stopping()
        self.events = Events()
        keeper.listen_to(self.events)
        self.result = RunResult(run_dir=keeper.run_dir)
        self.totals = {p.index: StageCounts() for p in plan.stages}
        self.under_way: dict[str, dict[int, StageCounts]] = {}
        self.listed_all = False
        self._listing = listing
        self._keeper = keeper
        self._ledger = Ledger()
        self._sources: dict[str, Source] = {}
        self._blames: dict[str, Blame] = {}
        self._shown: dict[str, set[str]] = {}
        self._holds = plan.stages[-1].stage.writes
        self._started = time.monotonic()
        self._tainted: set[str] = set()
        self._failures = Failures(plan, keeper.run_dir)
        self.watchers: list[Callable[[Run], None]] = []
        self._review = Review(listing, keeper, self.result)
        self._left = self._review.left_to_do()
        self._ahead: deque[Source] = deque()
        self._looked_through = False
        self._is_drawn_up = False
        for commit in keeper.memory.all():
            add_to(self.totals, commit.counts)

    @property
    def worker_stages(self) -> tuple[PlannedStage, ...]:
        """The stages that workers run: all but the one that lists the sources."""
        return self.plan.stages[self._listing.first_stage :]

    @property
    def open_sources(self) -> int:
        return len(self._ledger)

    @property
    def sources_left(self) -> int | None:
        """How many sources are still to be taken; None until all are listed."""
        return len(self._ahead) if self._looked_through else None

    def start(self, executor: str, why: str) -> None:
        LOG.info("running %s on %s (%s)", self.plan.name, executor, why)
        self.events.tell("run_started", name=self.plan.name, executor=executor, why=why)

    def explained(self, error: StageError) -> StageError:
        """The same failure with the source named in which it happened."""
        source = self._sources.get(error.source)
        if source is not None:
            error.args = (f"{error} (source: {source.label})",)
        return error

    # What executors call

    def sources(self) -> Iterator[AnyTask]:
        """The sources that are still to be done, each as its task; stops early when asked to."""
        with closing(self._left):
            while (source := self._next_source()) is not None:
                if self.stopping.is_asked:
                    return
                yield self.admit(source)
            self.listed_all = True

    def admit(self, source: Source) -> AnyTask:
        """Open the account of a source; its task. For those that were handed in, not listed."""
        self._sources[source.source_id] = source
        self._blames[source.source_id] = source.blame()
        self._ledger.open(source.source_id)
        return self._task_for(source.source_id)

    def blame(self, task: AnyTask) -> Blame:
        """What is known of the tasks of a source, to be told to whoever works on it."""
        return self._blames[source_of(task.lineage)]

    def deliver(self, output: AnyTask) -> list[AnyTask]:
        """Take in an output of the last stage; what may be shown of it now.

        The report of the call that made it has to come before any other: only then can its sources
        be finished.
        """
        shown = self.show(output)
        self.credit(output.lineage)
        return shown

    def show(self, output: AnyTask) -> list[AnyTask]:
        """`deliver` without the credit: that is told with `credit`, right before the report."""
        if not self._accept(output.lineage):
            return []
        group = self._ledger.group_of(output.lineage)
        if self._holds:
            group.outputs.append(output)
            return []
        return [output] if self._first_showing(output) else []

    def credit(self, lineage: Lineage) -> None:
        if self._ledger.stale(lineage) is None:
            self._ledger.credit(lineage)

    def absorb(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]:
        """Take in the report of a call on `sources`; outputs whose files are now in place.

        What stands in the report is the run's from now on.
        """
        for file, keys in report.staged:
            if self._accept(keys):
                self._ledger.group_of(keys).files.append(file)
        for keys, part in report.parts.items():
            if self._accept(keys):
                self._failures.add(part)
                self._ledger.group_of(keys).account.take(part)
        for lineage in (report.spent, report.lost):
            self._ledger.credit(lineage)
        self._note_losses(report.lost)
        current = [key for task in sources for key in task.lineage if self._ledger.is_current(key)]
        touched = {id(g): g for g in (self._ledger.group_of([key]) for key in current)}
        return [output for group in touched.values() for output in self._settle(group)]

    def again(self, source_id: str, reason: str) -> list[AnyTask]:
        """Void what the current attempt at a source gave; the sources to run again, as tasks."""
        if source_id not in self._ledger:
            return []
        self._failures.forget(self._ledger.group_with(source_id).account)
        sources = self._ledger.reopen(source_id)
        self._tainted.difference_update(sources)
        self.events.tell("source_again", sources=sources, reason=reason)
        return [self._task_for(source) for source in sources]

    def give_up(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]:
        """Fail a source as a whole: its task, as the first stage of the workers got it."""
        task = self._task_for(source_id)
        if stage.policy.on_error == "fail":
            raise StageError(
                f"stage {stage.name!r} or one behind it failed: {reason}",
                stage=stage.name,
                task_id=task.task_id,
                source=source_id,
            )
        report = CallReport(lost=dict(task.lineage))
        part = report.part(task.lineage)
        counts = part.of(stage.index)
        counts.tasks_in = counts.tasks_failed = 1
        counts.items_in = counts.items_failed = task.num_items
        if stage.policy.on_error == "quarantine":
            part.quarantined.append(
                QuarantineRecord(
                    task.task_id,
                    stage.name,
                    stage.index,
                    reason,
                    source_id,
                    attempts=ATTEMPTS_BEFORE_QUARANTINE + 1,
                    items=task.num_items,
                    payload=payload_of(task),
                )
            )
        return self.absorb(report, [task])

    def worker_gone(self, worker_id: str, reason: str) -> None:
        """A worker died, hung or was recycled, and will be replaced."""
        restarts = self.result.worker_restarts
        restarts[reason] = restarts.get(reason, 0) + 1
        self.events.tell("worker_gone", worker=worker_id, reason=reason)

    def void_mixed(self) -> set[str]:
        """Sources whose output was refused because it was mixed with a void attempt: to be run
        `again`, each with all that it is bound to."""
        tainted, self._tainted = self._tainted, set()
        groups = {id(self._ledger.group_with(s)): s for s in tainted if s in self._ledger}
        return set(groups.values())

    def tick(self) -> None:
        """To be called now and then, at least every few seconds, so that waiting is noticed."""
        self._keeper.refresh()
        self._look_ahead()
        for listener in self.watchers:
            listener(self)

    def _next_source(self) -> Source | None:
        if self._ahead:
            return self._ahead.popleft()
        source = next(self._left, None)
        self._looked_through = source is None
        return source

    def _look_ahead(self) -> None:
        """List a little further than is needed now, so that it is known how much there is.

        Only names of files are held that way: a source that carries its own data stays where it is.
        """
        until = time.monotonic() + LOOK_AHEAD_S
        while not self._looked_through and len(self._ahead) < MOST_AHEAD:
            source = next(self._left, None)
            self._looked_through = source is None
            if source is None:
                return
            self._ahead.append(source)
            if not source.origins or time.monotonic() > until:
                return

    def finish(self) -> None:
        """Draw the balance once all is done; raises where the result is not to be trusted."""
        if self.stopping.is_asked:
            self._say_interrupted()
        if self.open_sources:
            raise AssertionError(
                f"the executor lost {self.open_sources} of the sources: they were handed out and "
                "never came back; run the same command to do what is left"
            )
        self._draw_up()
        if not (self.plan.allow_empty or self._listing.may_be_empty):
            self._refuse_emptiness()
            self._failures.judge(self.totals, self._quarantined)
        self._close("done")

    def fail(self, status: str) -> None:
        """Keep what was done before the run broke off, as far as the disk still takes it."""
        try:
            self._close(status)
        except (OSError, CuratorError) as error:
            LOG.warning("the end of the run could not be written down: %s", reason_of(error))

    # Inside

    def _task_for(self, source_id: str) -> AnyTask:
        task = copy(self._sources[source_id].task)
        task.lineage = whole(source_id, self._ledger.attempt(source_id))
        task.timings = {}
        return task

    def _accept(self, lineage: Iterable[tuple[str, int]]) -> bool:
        """Refuse what belongs to an attempt that is void, or is mixed with such."""
        tainted = self._ledger.stale(lineage)
        if tainted is None:
            return True
        self._tainted |= tainted
        return False

    def _first_showing(self, output: AnyTask) -> bool:
        """A source that is run again gives outputs that were shown before: same id, same data."""
        [*sources] = {key[0] for key in output.lineage}
        for source in sources:
            if output.task_id in self._shown.setdefault(source, set()):
                return False
        for source in sources:
            self._shown[source].add(output.task_id)
        return True

    def _settle(self, group: Group) -> list[AnyTask]:
        """Publish and close a group whose credit is all back; the outputs that it held.

        One of which an output was refused is not whole: it waits to be run `again`.
        """
        if not group.is_complete or self._tainted.intersection(group.credit):
            return []
        self._ledger.close(group)
        sources = [self._sources.pop(source_id) for source_id in group.credit]
        for source in sources:
            self._shown.pop(source.source_id, None)
            self._blames.pop(source.source_id)
        self._label(group, sources)
        self._take_back_failures(group, sources)
        self._keeper.commit(group, sources)
        add_to(self.totals, group.account.counts)
        self.result.sources_done += len(group.credit)
        self.result.quarantined += self._shown_records(group)
        self.events.tell("sources_done", sources=group.sources, lost=group.lost)
        return group.outputs

    def _shown_records(self, group: Group) -> list[QuarantineRecord]:
        """Where payloads are kept on disk, they need no room in memory too."""
        if self._keeper.run_dir is None:
            return group.account.quarantined
        return [replace(record, payload=None) for record in group.account.quarantined]

    def _label(self, group: Group, sources: list[Source]) -> None:
        labels = {source.source_id: source.label for source in sources}
        group.account.quarantined = [
            replace(record, source=labels.get(record.source_id, ""))
            for record in group.account.quarantined
        ]

    def _take_back_failures(self, group: Group, sources: list[Source]) -> None:
        """What is retried counted as failed before: it must not count twice."""
        for record in (source.replaces for source in sources if source.replaces):
            undone = StageCounts(tasks_in=-1, tasks_failed=-1)
            undone.items_in = undone.items_failed = -record.items
            group.account.of(record.stage_index).add(undone)

    def _note_losses(self, lost: Lineage) -> None:
        for key in lost:
            if self._ledger.is_current(key):
                self._ledger.group_of([key]).lost = True

    def _quarantined(self) -> list[QuarantineRecord]:
        return self._keeper.quarantined() or self.result.quarantined

    def _draw_up(self) -> None:
        """Complete the account with what the listing did and what had to be taken back; once."""
        if self._is_drawn_up:
            return
        self._is_drawn_up = True
        add_to(self.totals, self._listing.counts())
        taken_back = self._review.taken_back
        for commit in taken_back:
            take_from(self.totals, commit.counts)
        if taken_back:
            sources = sum(len(commit.sources) for commit in taken_back)
            self.result.notes.append(
                f"took back what {sources} source{'s' * (sources != 1)} had given: "
                "inputs have changed"
            )
        if self._review.gone:
            self.result.notes.append(
                f"inputs of {self._review.gone} earlier source{'s' * (self._review.gone != 1)} "
                "are no longer there: what they gave was kept"
            )

    def _say_interrupted(self) -> None:
        self._close("interrupted")
        done = self.result.sources_done + self.result.sources_skipped
        raise RunInterrupted(
            f"stopped by {self.stopping.reason}: {done} sources are done and kept; "
            "run the same command to go on",
            self.stopping.signal_number or 2,
        )

    def _refuse_emptiness(self) -> None:
        if not self.result.sources_done + self.result.sources_skipped:
            raise EmptyRunError(
                f"pipeline {self.plan.name!r} had nothing to do: its first stage found no sources. "
                "Check its paths, or set allow_empty (--allow-empty) where that is right"
            )
        last = self.totals[self.plan.stages[-1].index]
        dropped = sum(c.items_dropped + c.failures for c in self.totals.values())
        if not last.tasks_out and not dropped and self.worker_stages:
            raise EmptyRunError(
                f"pipeline {self.plan.name!r} gave nothing, though no stage dropped anything: "
                f"{self._where_it_ends()}; set allow_empty (--allow-empty) where that is right"
            )

    def _where_it_ends(self) -> str:
        first = self.worker_stages[0]
        if self.totals[first.index].tasks_out:
            return "check what its stages return"
        if first.index:
            return f"stage {first.name!r} found no records in its sources"
        return f"stage {first.name!r} returned no tasks"

    def _close(self, status: str) -> None:
        self._draw_up()
        unbalanced = [i for i, counts in self.totals.items() if not counts.balanced]
        if unbalanced and status == "done":
            names = ", ".join(self.plan.stages[index].name for index in unbalanced)
            raise AssertionError(f"the account of {names} does not balance")
        self.result.status = status
        self.result.seconds = time.monotonic() - self._started
        self.result.stages = {p.name: self.totals[p.index] for p in self.plan.stages}
        self.events.tell("run_ended", **self.result.to_json())
        self._keeper.finish(self.result)
