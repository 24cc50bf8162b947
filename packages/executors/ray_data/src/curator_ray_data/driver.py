"""Runs one Ray Data job after the other until nothing of the run is left; usually there is one."""

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from curator_core import AnyTask, Plan
from curator_core.model.reports import CallReport, Keys
from curator_core.model.snapshot import ExecutorState
from curator_ray.cluster.node_usage import NodeUsageMonitor
from curator_ray.cluster.survey import Survey
from curator_ray.executor import FORCED_STOP_S
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.remote.messages import SourceKeys
from curator_ray.transfer.modules import PlanPacker, search_path
from curator_ray.worker.messages import Assignment
from curator_ray.worker.output import LogRelay

from curator_ray_data.context import BlockErrors, context_for, log_to_file_only
from curator_ray_data.job import ActorNames, Job, JobPart, build_dataset
from curator_ray_data.options import RayDataOptions
from curator_ray_data.placement import NodeWatch, Placement
from curator_ray_data.plan import operators_of, shares_of, unused_gpu_node_cpus
from curator_ray_data.recovery import Recovery
from curator_ray_data.rows import ResultRow, unpack_results, unpack_tasks
from curator_ray_data.run_folder import RunFolder
from curator_ray_data.sources import JobSources, pack_blocks
from curator_ray_data.stalls import StallWatch
from curator_ray_data.worker import ABORT, DRAIN, OperatorConfig, end_host

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_POLL_DEATHS_S = 1.0
_POLL_REMOTE_DEATHS_S = 30.0
"""How often dead workers are looked for, so that a stage that kills them all ends the run soon."""

_TEARDOWN_S = 30.0
"""How long workers may take to tear down."""

_ABORTED_TEARDOWN_S = 15.0
"""The same for a run that is aborted."""

_CLOSE_S = 10.0
"""How long Ray Data may take to end a job after its workers have ended."""


class Driver:
    """One run on one cluster."""

    def __init__(
        self,
        plan: Plan,
        run: "RemoteRun",
        survey: Survey,
        folder: RunFolder,
        packer: PlanPacker,
        options: RayDataOptions,
    ) -> None:
        self._run = run
        self._survey = survey
        self._folder = folder
        self._baggage = packer
        self._options = options
        self._packed_plan = packer.pack(plan)
        store_bytes = sum(node.object_store_gb for node in survey.facts.nodes) * 1e9
        self._sources = JobSources(run, options, store_bytes)
        run.executor_state = self._executor_state
        self._crashes = CrashHistory(run)
        self._reruns = SourceReruns(run)
        self._recovery = Recovery(run, self._crashes, self._reruns)
        self._relay = LogRelay(run.add_worker_output)
        self._operators = operators_of(run.worker_stages)
        self._parts: list[JobPart] = []
        self._actor_names = ActorNames(run.token)
        self._nodes = NodeWatch(run, survey)
        self._stalls = StallWatch(run, options, folder.workers)
        self._usage = NodeUsageMonitor(lambda: survey.facts, self._stalls.used_nodes)
        self._is_draining = self._was_aborted = False
        self._next_death_poll = 0.0

    def outputs(self) -> Iterator[AnyTask]:
        """Yield the outputs of the run as they come; closing the iterator ends the work."""
        if not self._survey.is_exclusive:  # a private cluster is this machine
            self._usage.start()
        try:
            yield from self._run_jobs()
        finally:
            self._stalls.close()
            self._usage.close()

    def _executor_state(self) -> ExecutorState:
        return replace(self._folder.executor_state(), nodes=self._usage.latest())

    def _run_jobs(self) -> Iterator[AnyTask]:
        while not self._run.stopping.is_requested:
            reruns = self._reruns.take()
            sources = reruns or self._sources.take()
            if not sources:
                return
            for source in sources:
                self._crashes.add_source(source)
            with log_to_file_only(verbose=self._options.verbose_progress) as errors:
                yield from self._run_job(sources, errors, singly=bool(reruns))
            for source in sources:  # reports may have come before the outputs they are about
                yield from self._apply(CallReport(), tuple(source.lineage))
            if not self._run.stopping.is_requested:
                self._record_deaths(errors)
                yield from self._recovery.recover(sources)

    def _run_job(
        self, sources: Sequence[AnyTask], errors: BlockErrors, *, singly: bool
    ) -> Iterator[AnyTask]:
        is_complete = False
        job = self._start_job(sources, errors, singly=singly)
        try:
            for block in job.blocks():
                if block is not None:
                    yield from self._take(block)
                    del block
                    self._stalls.note_progress()
                if not self._tick(errors):
                    return
            is_complete = True
        finally:
            self._end_job(job, aborts=not is_complete)

    def _start_job(self, sources: Sequence[AnyTask], errors: BlockErrors, *, singly: bool) -> Job:
        if self._was_aborted:
            self._folder.resume(ABORT)
        facts = self._survey.facts
        cpu_limit = self._options.resource_limits.get("cpu", inf)
        shares = shares_of(self._operators, facts, cpu_limit)
        blame = self._crashes.blame_for(tuple(key for one in sources for key in one.lineage))
        paths = search_path()
        parts = self._parts = []
        for share, operator in zip(shares, self._operators, strict=True):
            assignment = Assignment(
                "", self._folder.path, self._run.token, operator.resources, paths
            )
            takes_sources = operator is self._operators[0]
            config = OperatorConfig(
                operator.step, takes_sources, assignment, self._packed_plan, blame
            )
            parts.append(JobPart(operator, config, share, Placement(operator, self._survey)))
        excluded_cpus = unused_gpu_node_cpus(self._operators, shares, facts)
        with context_for(self._options, excluded_cpus):
            blocks = pack_blocks(sources, self._options, self._baggage, singly=singly)
            names = self._actor_names = ActorNames(self._run.token)
            can_grow = not self._survey.is_exclusive
            dataset = build_dataset(blocks, parts, names, can_grow=can_grow)
        self._stalls.note_progress()
        return Job(dataset, errors)

    def _take(self, block: pa.Table) -> Iterator[AnyTask]:
        """Handle outputs before results: a source may only be finished after its outputs."""
        for output in unpack_tasks(block):
            yield from self._run.add_output(output)
        for row in unpack_results(block):
            yield from self._take_result(row)

    def _take_result(self, row: ResultRow) -> Iterator[AnyTask]:
        result = row.result
        self._relay.forward(row.worker_id, result.lines, result.output)
        if result.error is not None:
            raise result.error
        if result.report is not None:
            yield from self._apply(result.report, row.keys)

    def _apply(self, report: CallReport, keys: Keys) -> Iterator[AnyTask]:
        yield from self._run.apply_report(report, [cast(AnyTask, SourceKeys(keys))])
        self._reruns.rerun_mixed()

    def _tick(self, errors: BlockErrors) -> bool:
        """Do periodic checks; return False if the job must be aborted."""
        self._run.tick()
        self._stalls.poll()
        if time.monotonic() >= self._next_death_poll and not self._run.stopping.is_requested:
            self._record_deaths(errors)
        stopping = self._run.stopping
        if stopping.is_requested and not self._is_draining:
            self._is_draining = True
            self._folder.stop(DRAIN)
        changes = self._nodes.poll()
        if changes.joined:
            self._folder.add_nodes(self._survey)
        must_move = changes.left and any(part.placement.is_lost for part in self._parts)
        return not (stopping.is_overdue or must_move)

    def _record_deaths(self, errors: BlockErrors) -> None:
        self._recovery.record_deaths(self._folder.take_dead(errors.errors))
        interval_s = _POLL_REMOTE_DEATHS_S if self._folder.remote_nodes else _POLL_DEATHS_S
        self._next_death_poll = time.monotonic() + interval_s

    def _teardown_limit_s(self, *, aborts: bool) -> float:
        if not aborts:
            return _TEARDOWN_S
        return FORCED_STOP_S if self._run.stopping.is_requested else _ABORTED_TEARDOWN_S

    def _end_job(self, job: Job, *, aborts: bool) -> None:
        """Let every worker tear down, and kill those that take too long."""
        calls: list[Any] = []
        job.discard_blocks()
        try:
            if aborts:
                self._folder.stop(ABORT, at_once=True)
                # The actors skip all blocks now, but on a busy machine that takes minutes.
                calls = self._actor_names.call_all(end_host)
            gc.collect()  # Ray Data's executor is part of a cycle that holds the actors
            self._folder.wait_until_idle(self._teardown_limit_s(aborts=aborts))
        finally:  # also after a second Ctrl-C
            del calls
            if aborts:
                self._folder.kill_workers()
            job.close(_CLOSE_S)
            self._actor_names.kill_all()
            self._was_aborted = aborts
