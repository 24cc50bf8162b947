"""Runs rounds of sources through the stages, one stage after the other."""

import logging
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, cast

from curator_core import AnyTask, PlannedStage
from curator_ray.cluster.survey import Survey
from curator_ray.executor import FORCED_STOP_S
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.remote.messages import SourceKeys
from curator_ray.worker.handle import WorkerLauncher
from curator_ray.worker.output import LogRelay

from curator_actor_pool.call_size import CallSizer
from curator_actor_pool.failures import FailureHandler
from curator_actor_pool.monitor import OverdueError, RunMonitor
from curator_actor_pool.options import ActorPoolOptions
from curator_actor_pool.pools import ABORTED_TEARDOWN_S, ActorPools
from curator_actor_pool.rounds import GROWTH, RoundSizer, RoundSources
from curator_actor_pool.stage_pass import FinishedCall, RunParts, StagePass
from curator_actor_pool.stored_tasks import StoredRange

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_LOG_ROUND_S = 10.0


class Driver:
    """One run on one cluster. It works while its outputs are being read."""

    def __init__(
        self,
        run: "RemoteRun",
        options: ActorPoolOptions,
        survey: Survey,
        launcher: WorkerLauncher,
    ) -> None:
        self._run = run
        self._stages = run.worker_stages
        self._pools = ActorPools(launcher)
        self._reruns = SourceReruns(run)
        crashes = CrashHistory(run)
        self._failures = FailureHandler(run, self._pools, crashes, self._reruns)
        self._monitor = RunMonitor(run, options, survey, self._pools)
        self._relay = LogRelay(run.add_worker_output)
        self._parts = RunParts(
            self._pools,
            self._failures,
            crashes,
            self._monitor,
            self._relay,
            options.slots_per_actor,
        )
        store_bytes = sum(node.object_store_gb * 1e9 for node in survey.facts.nodes)
        max_bytes = options.max_round_bytes(store_bytes)
        self._rounds = RoundSizer(max_bytes, options.round_minutes * 60, is_batch=options.is_batch)
        self._sources = RoundSources(run, launcher.packer, crashes, self._reruns)
        self._sizers = {
            p.index: CallSizer(p.batch_size if p.stage.works_on_batches else 1)
            for p in self._stages
        }
        self._peak_bytes = 0.0

    def outputs(self) -> Iterator[AnyTask]:
        is_complete = False
        try:
            while not self._run.stopping.is_requested:
                ranges = self._sources.take(self._rounds.sources, self._rounds.max_bytes)
                if not ranges:
                    break
                yield from self._run_round(ranges)
            is_complete = True
        except OverdueError:
            pass  # the run itself reports that it was interrupted
        finally:
            try:
                timeout_s = None if is_complete else self._abort_timeout_s
                for worker, result in self._pools.end_all(timeout_s):
                    self._relay.forward(worker, result.lines, result.output)
            finally:
                self._monitor.close()

    @property
    def _abort_timeout_s(self) -> float:
        return FORCED_STOP_S if self._run.stopping.is_requested else ABORTED_TEARDOWN_S

    def _run_round(self, ranges: list[StoredRange]) -> Iterator[AnyTask]:
        started, sources = time.monotonic(), sum(map(len, ranges))
        self._peak_bytes = 0.0
        *others, last = self._stages
        for planned in others:
            ranges = yield from self._run_stage(planned, ranges)
        if ranges:
            yield from self._run_last_stage(last, ranges)
        seconds = time.monotonic() - started
        self._rounds.record(sources, self._peak_bytes, seconds)
        self._run.events.emit(
            "round_ended",
            sources=sources,
            seconds=round(seconds, 3),
            peak_bytes=int(self._peak_bytes),
        )
        if seconds > _LOG_ROUND_S:
            LOG.info("actor pool: a round of %d sources took %.0f s", sources, seconds)

    def _run_stage(
        self, planned: PlannedStage, ranges: list[StoredRange]
    ) -> Generator[AnyTask, None, list[StoredRange]]:
        """Run a stage, and return its outputs, which stay in the object store."""
        outputs: list[StoredRange] = []
        output_bytes = 0
        stage_pass = self._stage_pass(planned, ranges)
        for call in stage_pass.calls():
            outputs += map(StoredRange.of, call.outputs)
            output_bytes += call.nbytes
            self._peak_bytes = max(self._peak_bytes, stage_pass.input_bytes, output_bytes)
            yield from self._report(call)
        self._release(planned)
        return outputs

    def _run_last_stage(
        self, planned: PlannedStage, ranges: list[StoredRange]
    ) -> Iterator[AnyTask]:
        """Run the last stage; its outputs are fetched before they count."""
        import ray

        stage_pass = self._stage_pass(planned, ranges)
        for call in stage_pass.calls():
            self._peak_bytes = max(self._peak_bytes, stage_pass.input_bytes)
            try:
                for stored in call.outputs:
                    for output in ray.get(stored.ref).unpack():
                        yield from self._run.add_output(output)
            except ray.exceptions.RayError as error:
                self._failures.handle_lost_data(call.keys, error)
                continue
            yield from self._report(call)
        self._release(planned)

    def _stage_pass(self, planned: PlannedStage, ranges: list[StoredRange]) -> StagePass:
        """Take the tasks over from `ranges`, so that each is freed after its call."""
        current = self._without_void(ranges)
        ranges.clear()
        is_first = planned is self._stages[0]
        sizer = self._sizers[planned.index]
        growth = 1 if self._sources.is_exhausted else GROWTH
        return StagePass(planned, current, sizer, self._parts, is_first=is_first, growth=growth)

    def _without_void(self, ranges: list[StoredRange]) -> list[StoredRange]:
        """Leave out what only comes from attempts that no longer count."""
        attempts = self._reruns.attempts
        if not attempts:
            return list(ranges)
        return [
            tasks
            for tasks in ranges
            if any(attempts.get(s, a) <= a for keys in tasks.keys for s, a in keys)
        ]

    def _report(self, call: FinishedCall) -> Iterator[AnyTask]:
        yield from self._run.apply_report(call.report, [cast(AnyTask, SourceKeys(call.keys))])
        self._reruns.rerun_mixed()
        yield from self._failures.take_freed_outputs()

    def _release(self, planned: PlannedStage) -> None:
        if self._sources.is_exhausted and not self._reruns:
            self._pools.release(planned)
