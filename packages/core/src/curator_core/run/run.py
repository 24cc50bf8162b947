"""Active run: give sources to the executor and account for what it reports."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from curator_core.errors import CuratorError, RunInterrupted, StageError, reason_of
from curator_core.logs import log
from curator_core.model.crash_attribution import Blame
from curator_core.model.files import FileGroup
from curator_core.model.formatting import counted
from curator_core.model.lineage import Lineage, source_of
from curator_core.model.node_usage import ThisMachine
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.records import QuarantineRecord, StageCounts, kind_of, payload_of
from curator_core.model.reports import CallReport, CompactReport, Part
from curator_core.model.snapshot import ExecutorState, RunSnapshot
from curator_core.model.tasks import AnyTask
from curator_core.model.usage import RECYCLED, Usages
from curator_core.plan.events import Events
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.plan.stop_request import StopRequest
from curator_core.run.events import SampleEvents
from curator_core.run.failures import FailureCounter, describe_largest_drop, refuse_empty_run
from curator_core.run.input_changes import STOP, InputPolicy
from curator_core.run.ledger import (
    EmittedOutputs,
    Group,
    Ledger,
    Totals,
    add_to,
    label_records,
    result_records,
    subtract_retried_failures,
)
from curator_core.run.node_peaks import NodePeaks
from curator_core.run.permissions import RunDirectoryDeletedError
from curator_core.run.result import RunResult
from curator_core.run.resume import RemainingSources
from curator_core.run.signals import interrupted_error
from curator_core.run.snapshot import SnapshotEmitter, stage_snapshots
from curator_core.run.sources import Listing, Source, SourceQueue
from curator_core.run.store import RunStore
from curator_core.run.worker_logs import log_worker_output, redact_output

LOG = log()

_LOGGED_COUNTS = frozenset({1, 10, 100, 1_000, 10_000})
"""Log a lost worker at these counts per reason, so that it does not flood the log."""


class ActiveRun:
    """The state and counts of one execution of a plan.

    An executor takes tasks from `sources()`. It passes outputs to `add_output` and call reports to
    `apply_report`, and yields what these two return: outputs whose files are already in place.
    """

    def __init__(
        self,
        plan: Plan,
        listing: Listing,
        store: RunStore,
        policy: InputPolicy = STOP,
    ) -> None:
        self.plan = plan
        self.token = store.token
        self.stopping = StopRequest()
        self.events = Events()
        store.attach_to(self.events)
        self.result = RunResult(run_dir=store.run_dir)
        self.counts_in_progress: dict[str, dict[int, StageCounts]] = {}
        self.usages = Usages()
        self.executor_state: Callable[[], ExecutorState] | None = None
        self.listed_all = False
        self._listing = listing
        self._store = store
        self.totals = self._committed_totals()
        self._ledger = Ledger()
        self._sources: dict[str, Source] = {}
        self._blames: dict[str, Blame] = {}
        self._emitted = EmittedOutputs()
        self._executor = ""
        self._sources_failed = 0
        self._quarantined_tasks: dict[str, int] = {}
        self._holds = plan.stages[-1].stage.writes
        self._started = time.monotonic()
        self._tainted: set[str] = set()
        self._nodes = NodePeaks(self.result)
        self._this_machine = ThisMachine()
        self._failures = FailureCounter(plan, store.run_dir)
        self._snapshots = SnapshotEmitter(self.events, self.snapshot)
        self._samples = SampleEvents(plan, self.events)
        self._remaining = RemainingSources(listing, store, self.result, policy)
        self._queue = SourceQueue(self._remaining.remaining())
        self._has_complete_totals = False

    @property
    def worker_stages(self) -> tuple[PlannedStage, ...]:
        """The steps that workers run: all except a first stage that lists the sources."""
        return self.plan.steps_between(self._listing.first_stage)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def open_sources(self) -> int:
        return len(self._ledger)

    @property
    def has_work(self) -> bool:
        """Whether workers are needed. If not, iterate over `sources` to finish the listing."""
        return not self._queue.is_empty

    def start(self, executor: str, why: str) -> None:
        """Start the run.

        Raise RemovedInputsError, before anything is written, if input files were removed.
        """
        self._remaining.list_ahead()
        self._store.begin()
        LOG.info("running %s on %s (%s)", self.plan.name, executor, why)
        self.events.emit("run_started", name=self.plan.name, executor=executor, why=why)
        self._executor = executor
        self._snapshots.begin()

    def snapshot(self, status: str = "running") -> RunSnapshot:
        """Return the state of the run: finished sources, open sources and calls in progress."""
        counts: dict[int, StageCounts] = {}
        for one in (self.totals, *self._ledger.accounts(), *self.counts_in_progress.values()):
            add_to(counts, one)
        state = ExecutorState()
        if status == "running":  # there are no workers afterwards
            state = self.executor_state() if self.executor_state else state
            if state.nodes:
                self._nodes.add(state.nodes)
            else:
                self._nodes.add_driver(self._this_machine())
        return RunSnapshot(
            time=time.time(),
            name=self.plan.name,
            executor=self._executor,
            status=status,
            seconds=self.seconds,
            done=self.result.sources_done,
            skipped=self.result.sources_skipped,
            failed=self._sources_failed,
            open=self.open_sources,
            left=self._queue.known,
            stages=stage_snapshots(self.worker_stages, counts, self.totals, self.usages, state),
            executor_state=state,
            restarts=dict(self.result.worker_restarts),
            quarantined=dict(self._quarantined_tasks),
            is_stopping=self.stopping.is_requested,
            nodes=self._nodes.latest,
        )

    def add_source_label(self, error: StageError) -> StageError:
        """Add the label of the failed source to the error."""
        source = self._sources.get(error.source)
        if source is not None:
            error.args = (f"{error} (source: {source.label})",)
        return error

    # Called by executors

    def sources(self) -> Iterator[AnyTask]:
        """Yield the task of each remaining source; end early if a stop was requested."""
        with closing(self._queue):
            for source in self._queue:
                if self.stopping.is_requested:
                    return
                yield self.admit(source)
            self.listed_all = True

    def admit(self, source: Source) -> AnyTask:
        """Open a source and return its task; executors call it for sources not from `sources`."""
        source_id = source.source_id
        self._sources[source_id] = source
        if source.replaces is not None:
            self._blames[source_id] = source.blame()
        return source.start_task(self._ledger.open(source_id))

    def blame(self, task: AnyTask) -> Blame:
        """Return the crash history of a source, for the worker that runs it."""
        return self._blames.setdefault(source_of(task.lineage), Blame())

    def earlier_blame(self, task: AnyTask) -> Blame | None:
        """Return the crash history of a source from before this run, or None."""
        return self._blames.get(source_of(task.lineage))

    def add_output(self, output: AnyTask) -> list[AnyTask]:
        """Add an output of the last stage; return the outputs that can be emitted now.

        Call it before passing any report that can complete the output's sources to `apply_report`.
        """
        shown = self.emit(output)
        self.credit([output.lineage])
        return shown

    def emit(self, output: AnyTask) -> list[AnyTask]:
        """Like `add_output`, but without the credit: call `credit` right before `apply_report`."""
        if not self._accept(output.lineage):
            return []
        if self._holds or len(output.lineage) > 1:
            group = self._ledger.group_of(output.lineage)
        if self._holds:
            group.outputs.append(output)
            return []
        return [output] if self._emitted.is_first(output) else []

    def credit(self, lineages: Iterable[Lineage]) -> None:
        """Add the credit of outputs that were passed to `emit`."""
        stale = self._ledger.stale  # the ledger checks single sources itself
        self._ledger.credit_all(one for one in lineages if len(one) == 1 or stale(one) is None)

    def apply_report(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]:
        """Apply the report of a call on `sources`; return outputs whose files are now in place.

        The run takes ownership of the objects in the report.
        """
        self.usages.add(report.usages)
        self._samples.take(report.samples)
        if report.compact is not None and self._completes_sources(report.compact):
            self._close_compact(report.compact)
            return []
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
        return self._commit_complete(list(touched.values()))

    def restart_source(self, source_id: str, reason: str) -> list[AnyTask]:
        """Void the current attempt at a source; return the tasks of all sources to run again."""
        if source_id not in self._ledger:
            return []
        self._failures.forget(self._ledger.group_with(source_id).account)
        sources = self._ledger.reopen(source_id)
        self._tainted.difference_update(sources)
        self.events.emit("source_again", sources=sources, reason=reason)
        return [self._task_for(source) for source in sources]

    def fail_source(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]:
        """Fail a whole source, as a failure of its task in `stage`, the first worker stage."""
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
        counts.files_in = task.num_items if isinstance(task, FileGroup) else 0
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
                    kind=kind_of(task.stored_type),
                )
            )
        return self.apply_report(report, [task])

    def record_worker_loss(
        self, worker_id: str, reason: str, stage_index: int | None = None
    ) -> None:
        """Record that a worker died, hung or was recycled at this stage; it will be replaced."""
        if stage_index is not None:
            self.usages.of(stage_index).add_lost_worker(reason)
        restarts = self.result.worker_restarts
        restarts[reason] = restarts.get(reason, 0) + 1
        self.events.emit("worker_gone", worker=worker_id, reason=reason)
        if (
            restarts[reason] in _LOGGED_COUNTS
            and reason != RECYCLED
            and not self.stopping.is_requested
        ):
            at = "" if stage_index is None else f" at stage {self.plan.stages[stage_index].name!r}"
            so_far = f" ({restarts[reason]:,} so far)" if restarts[reason] > 1 else ""
            LOG.warning("a worker%s %s%s; others continue its work", at, reason, so_far)

    def add_worker_output(self, worker_id: str, text: str) -> None:
        """Keep what stages printed in a worker in `logs/`, and show it if requested."""
        if text:
            text = redact_output(text)
            self._store.keep_worker_output(worker_id, text)
            log_worker_output(worker_id, text)

    def take_mixed_sources(self) -> set[str]:
        """Return one source of each group to restart with `restart_source`.

        Their output was rejected because it was mixed with output of a void attempt.
        """
        tainted, self._tainted = self._tainted, set()
        groups = {id(self._ledger.group_with(s)): s for s in tainted if s in self._ledger}
        return set(groups.values())

    def tick(self) -> None:
        """Check the lock, list ahead and emit a snapshot. Call it at least every few seconds."""
        self._store.check()
        self._queue.list_ahead()
        self._snapshots.tick()

    def finish(self) -> None:
        """Close the finished run; raise if its result cannot be trusted."""
        if self.stopping.is_requested:
            self._raise_interrupted()
        if self.open_sources:
            raise AssertionError(
                f"the executor lost {self.open_sources} of the sources: they were taken and "
                "never reported; run the same command again to resume"
            )
        self._complete_totals()
        if not (self.plan.allow_empty or self._listing.may_be_empty):
            refuse_empty_run(self.plan, self.worker_stages, self.result, self.totals)
            self._failures.check_at_end(self.totals, self._quarantine_records)
        self._close("done")
        if self.result.kept_nothing and not self.plan.allow_empty:
            LOG.warning("%s", describe_largest_drop(self.plan.name, self.result))

    def fail(self, status: str) -> None:
        """Record the run as ended early, as far as the disk allows."""
        try:
            self._close(status)
        except RunDirectoryDeletedError:
            pass  # the run has already failed because of this
        except (OSError, CuratorError) as error:
            LOG.warning("the end of the run could not be recorded: %s", reason_of(error))

    # Internals

    def _committed_totals(self) -> Totals:
        totals = {planned.index: StageCounts() for planned in self.plan.stages}
        for commit in self._store.history.all():
            add_to(totals, commit.account())
        return totals

    def _task_for(self, source_id: str) -> AnyTask:
        return self._sources[source_id].start_task(self._ledger.attempt(source_id))

    def _completes_sources(self, plain: CompactReport) -> bool:
        """Whether this report completes its sources and nothing else is known about them."""
        ledger, wholes = self._ledger, plain.wholes
        return (
            self._store.run_dir is None
            and not self._tainted
            and not any(key[0] in self._blames for key in plain.tally.keys)
            and all(ledger.would_complete(key, whole=key in wholes) for key in plain.tally.keys)
            and not any(counts.failures for counts in plain.tally.total().values())
        )

    def _close_compact(self, plain: CompactReport) -> None:
        """Add up and close many plain sources at once."""
        total = plain.tally.total()
        self._failures.add(Part(dict(total)))
        add_to(self.totals, total)
        self.result.sources_done += len(plain.tally.keys)
        has_listener = self.events.has_listener("sources_done")
        for source_id, _ in plain.tally.keys:
            self._ledger.close_compact(source_id)
            del self._sources[source_id]
            self._emitted.forget(source_id)
            if has_listener:
                self.events.emit("sources_done", sources=[source_id], lost=False)

    def _accept(self, lineage: Iterable[tuple[str, int]]) -> bool:
        """Reject output of a void attempt, or output mixed with it."""
        tainted = self._ledger.stale(lineage)
        if tainted is None:
            return True
        self._tainted |= tainted
        return False

    def _commit_complete(self, groups: Iterable[Group]) -> list[AnyTask]:
        """Publish and close complete groups; return the outputs that they held back.

        Groups with a rejected output are not complete: they wait for `restart_source`.
        """
        done = [g for g in groups if g.is_complete and not self._tainted.intersection(g.credit)]
        closed = [(group, self._close_group(group)) for group in done]
        self._store.commit(closed)
        for group, sources in closed:
            add_to(self.totals, group.account.counts)
            self.result.sources_done += len(group.credit)
            self._note_closed(group, sources)
        return [output for group, _ in closed for output in group.outputs]

    def _close_group(self, group: Group) -> list[Source]:
        self._ledger.close(group)
        sources = [self._sources.pop(source_id) for source_id in group.credit]
        for source in sources:
            self._emitted.forget(source.source_id)
            self._blames.pop(source.source_id, None)
        if group.account.quarantined:
            label_records(group, sources)
        subtract_retried_failures(group, sources)
        return sources

    def _note_closed(self, group: Group, sources: list[Source]) -> None:
        records = result_records(group, is_kept=self._store.run_dir is not None)
        self.result.quarantined += records
        self._sources_failed += len(group.credit) * group.lost
        for record in records:
            if record.whole_task:
                tasks = self._quarantined_tasks
                tasks[record.stage] = tasks.get(record.stage, 0) + 1
        if self.events.has_listener("sources_done"):
            seconds = sum(counts.seconds for counts in group.account.counts.values())
            self.events.emit("sources_done", sources=group.sources, lost=group.lost,
                             label=sources[0].label, seconds=round(seconds, 3))  # fmt: skip

    def _note_losses(self, lost: Lineage) -> None:
        for key in lost:
            if self._ledger.is_current(key):
                self._ledger.group_of([key]).lost = True

    def _quarantine_records(self) -> list[QuarantineRecord]:
        return self._store.quarantined() or self.result.quarantined

    def _complete_totals(self) -> None:
        """Add the counts of the listing, and leave out retracted commits; once per run."""
        if self._has_complete_totals:
            return
        self._has_complete_totals = True
        if self._remaining.retracted:  # add up again: a minimum cannot be subtracted
            self.totals = self._committed_totals()
        add_to(self.totals, self._listing.counts())
        self.result.notes += self._remaining.notes()

    def _raise_interrupted(self) -> None:
        self._close("interrupted")
        done = counted(self.result.sources_done + self.result.sources_skipped, "source")
        what = f"stopped by {self.stopping.reason}: {done} done"
        raise interrupted_error(self.stopping, what, " and kept" if self._store.run_dir else None)

    def interrupted_at_once(self) -> RunInterrupted:
        """Return the error for a user who stopped the run without waiting for open work."""
        self.fail("interrupted")
        kept = ": what is finished is kept" if self._store.run_dir else None
        return interrupted_error(self.stopping, "stopped at once", kept)

    def _close(self, status: str) -> None:
        self._complete_totals()
        unbalanced = [i for i, counts in self.totals.items() if not counts.is_balanced]
        if unbalanced and status == "done":
            names = ", ".join(self.plan.stages[index].name for index in unbalanced)
            raise AssertionError(
                f"internal error: the input and output counts of {names} do not add up; please "
                "report this"
            )
        self.result.status = status
        self.result.is_complete = self.listed_all and not self.open_sources
        self.result.seconds = self.seconds
        self.result.stages = {p.name: self.totals[p.index] for p in self.plan.stages}
        self.result.usages = self.usages.named({p.index: p.name for p in self.plan.stages})
        self._store.finish(self.result)
        self._snapshots.emit(status)
        self.events.emit("run_ended", **self.result.to_json())
