"""Driving: one job after the other, until nothing of the run is left to do. Mostly it is one."""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from curator_core import AnyTask
from curator_core.model.reports import CallReport, Keys
from curator_ray.executor import FORCED_STOP_S
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.worker.output import LogRelay

from curator_ray_data.contexts import Overheard, context_for, quietly
from curator_ray_data.hosting import BREAK, DRAIN, Ticket, end_host
from curator_ray_data.jobs import Job, Part, dataset_of
from curator_ray_data.losses import Losses
from curator_ray_data.operators import operators_of
from curator_ray_data.options import RayDataOptions
from curator_ray_data.places import Place
from curator_ray_data.rolls import Roll
from curator_ray_data.rows import Told, tasks_in, told_in
from curator_ray_data.scenes import Scene
from curator_ray_data.sharing import idle_cpus, shares
from curator_ray_data.siting import Lookout, Site
from curator_ray_data.sources import Sources, cut

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_END_PATIENCE_S = 30.0
"""How long workers may take to tear down."""

_LAST_PATIENCE_S = 15.0
"""How long at the end of a run that was broken off."""

_LEAVE_PATIENCE_S = 10.0
"""How long Ray Data may take to let a job go that nobody works on any more."""

_SHARE_OF_STORE = 0.25


@dataclass(frozen=True, slots=True)
class _Lot:
    """Tasks that a call was about, known by nothing but their sources."""

    lineage: Keys


class Driver:
    """One run on one cluster."""

    def __init__(
        self, run: "RemoteRun", sources: Sources, place: Place, options: RayDataOptions
    ) -> None:
        self._run = run
        self._place = place
        self._options = options
        self._sources = sources
        sources.most_bytes = max(sources.most_bytes, place.store_bytes * _SHARE_OF_STORE)
        run.executor_state = Scene(place.camp)
        self._known = CrashHistory(run)
        self._repeats = SourceReruns(run)
        self._losses = Losses(run, self._known, self._repeats)
        self._relay = LogRelay(run.add_worker_output)
        self._operators = operators_of(run.worker_stages)
        self._roll = Roll(run.token)
        self._parts: list[Part] = []
        self._broke_off = False
        self._lookout = Lookout(run, place.survey)

    def outputs(self) -> Iterator[AnyTask]:
        """Everything that the pipeline gives, as it comes; closing it ends the work."""
        while not self._run.stopping.is_requested:
            again = self._repeats.take()
            sources = again or self._sources.take()
            if not sources:
                return
            for source in sources:
                self._known.add_source(source)
            with quietly(shows_progress=self._options.verbose_progress) as overheard:
                yield from self._outputs_of_job(sources, overheard, singly=bool(again))
            yield from self._settle(sources)
            if not self._run.stopping.is_requested:
                yield from self._losses.learn(
                    sources, self._place.camp.casualties(overheard.errors)
                )

    def _outputs_of_job(
        self, sources: Sequence[AnyTask], overheard: Overheard, *, singly: bool
    ) -> Iterator[AnyTask]:
        is_through = False
        job = self._begin(sources, overheard, singly=singly)
        try:
            for block in job.blocks():
                if block is not None:
                    yield from self._take(block)
                    del block
                if not self._look_after() or not self._look_at_nodes(job):
                    return
            is_through = True
        finally:
            self._end(job, breaks_off=not is_through)

    def _begin(self, sources: Sequence[AnyTask], overheard: Overheard, *, singly: bool) -> Job:
        place = self._place
        if self._broke_off:
            place.camp.go_on(BREAK)
        blame = self._known.blame_for(tuple(key for one in sources for key in one.lineage))
        parts = self._parts = []
        most_cpus = self._options.resource_limits.get("cpu", inf)
        shared = shares(self._operators, place.survey.facts, most_cpus)
        for share, operator in zip(shared, self._operators, strict=True):
            assignment = replace(place.assignment, granted=operator.resources)
            is_first = operator is self._operators[0]
            ticket = Ticket(operator.step, is_first, assignment, place.packed_plan, blame)
            parts.append(Part(operator, ticket, share, Site(operator, share, place.survey)))
        idle = idle_cpus(self._operators, shared, place.survey.facts)
        with context_for(self._options, idle):
            blocks = cut(sources, self._options, place.packer, singly=singly)
            self._roll = Roll(self._run.token)
            return Job(dataset_of(blocks, parts, self._roll), overheard)

    def _take(self, block: pa.Table) -> Iterator[AnyTask]:
        """Outputs before what is told of their calls: only then may their sources be done."""
        for output in tasks_in(block):
            yield from self._run.add_output(output)
        for told in told_in(block):
            yield from self._hear(told)

    def _hear(self, told: Told) -> Iterator[AnyTask]:
        answer = told.answer
        self._relay.forward(told.worker_id, answer.lines, answer.output)
        if answer.error is not None:
            raise answer.error
        if answer.report is not None:
            yield from self._absorb(answer.report, told.keys)

    def _absorb(self, report: CallReport, keys: Keys) -> Iterator[AnyTask]:
        yield from self._run.apply_report(report, [cast(AnyTask, _Lot(keys))])
        self._repeats.rerun_mixed()

    def _settle(self, sources: Sequence[AnyTask]) -> Iterator[AnyTask]:
        """Reports may have come before the outputs that they were about."""
        for source in sources:
            yield from self._absorb(CallReport(), tuple(source.lineage))

    def _look_after(self) -> bool:
        """To be called all the time; False where work under way is to be broken off."""
        self._run.tick()
        stopping = self._run.stopping
        if stopping.is_requested and not self._losses.is_draining:
            self._losses.is_draining = True
            self._place.camp.stop(DRAIN)
        return not stopping.is_overdue

    def _look_at_nodes(self, job: Job) -> bool:
        """To be called all the time; False where what is left has to be done by another job."""
        changes = self._lookout.look()
        if changes.joined:
            self._place.camp.spread(self._place.survey)
            job.let_grow([part.site.most for part in self._parts if part.operator.needs_actors])
        return not (changes.left and any(part.site.is_lost for part in self._parts))

    def _patience_s(self, *, breaks_off: bool) -> float:
        if not breaks_off:
            return _END_PATIENCE_S
        return FORCED_STOP_S if self._run.stopping.is_requested else _LAST_PATIENCE_S

    def _end(self, job: Job, *, breaks_off: bool) -> None:
        """See to it that every worker has torn down; who does not in time is ended."""
        camp = self._place.camp
        told: list[Any] = []
        job.drop()
        try:
            if breaks_off:
                camp.stop(BREAK, at_once=True)
                # Not left to the blocks that still wait: on a busy machine they take minutes.
                told = self._roll.tell(end_host)
            gc.collect()  # Ray Data's executor refers to itself, and with it to the actors
            camp.wait_until_empty(self._patience_s(breaks_off=breaks_off))
        finally:  # also when somebody presses Ctrl-C once more
            del told
            if breaks_off:
                camp.kill()
            job.leave(_LEAVE_PATIENCE_S)
            self._roll.dismiss()
            self._broke_off = breaks_off
