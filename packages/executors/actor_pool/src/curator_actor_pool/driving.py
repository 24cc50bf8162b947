"""Driving: rounds of sources go through the stages, each stage's turn behind a barrier."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from curator_core import AnyTask, PlannedStage
from curator_core.model.reports import Keys
from curator_ray.cluster.survey import Survey
from curator_ray.executor import FORCED_STOP_S
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.worker.handle import WorkerLauncher
from curator_ray.worker.output import LogRelay

from curator_actor_pool.chunking import Chunks
from curator_actor_pool.lots import Lot
from curator_actor_pool.options import ActorPoolOptions
from curator_actor_pool.pools import LAST_PATIENCE_S, Pools
from curator_actor_pool.rounds import Rounds
from curator_actor_pool.setbacks import Setbacks
from curator_actor_pool.sources import Sources
from curator_actor_pool.tending import OverdueError, Tending
from curator_actor_pool.turns import Crew, Finished, Turn

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_WORTH_A_LINE_S = 10.0


@dataclass(frozen=True, slots=True)
class _About:
    """Tasks that a call was about, known by nothing but their sources."""

    lineage: Keys


class Driver:
    """One run on one cluster. It works while its outputs are asked for."""

    def __init__(
        self, run: "RemoteRun", options: ActorPoolOptions, survey: Survey, hosts: WorkerLauncher
    ) -> None:
        self._run = run
        self._stages = run.worker_stages
        self._pools = Pools(hosts)
        self._repeats = SourceReruns(run)
        known = CrashHistory(run)
        self._tending = Tending(run, options, survey, self._pools)
        self._relay = LogRelay(run.add_worker_output)
        self._crew = Crew(
            self._pools,
            Setbacks(run, self._pools, known, self._repeats),
            known,
            self._tending,
            self._relay,
            options.slots_per_actor,
        )
        store_bytes = sum(node.object_store_gb * 1e9 for node in survey.facts.nodes)
        room = options.round_bytes(store_bytes)
        self._rounds = Rounds(room, options.round_minutes * 60, is_batch=options.is_batch)
        self._sources = Sources(run, hosts.packer, known, self._repeats)
        self._chunks = {
            p.index: Chunks(p.batch_size if p.stage.works_on_batches else 1) for p in self._stages
        }
        self._peak = 0.0

    def outputs(self) -> Iterator[AnyTask]:
        is_through = False
        try:
            while not self._run.stopping.is_requested:
                lots = self._sources.take(self._rounds.count, self._rounds.room)
                if not lots:
                    break
                yield from self._round(lots)
            is_through = True
        except OverdueError:
            pass  # the run knows that it was interrupted, and says so
        finally:
            try:
                patience = None if is_through else self._last_patience_s
                for worker, answer in self._pools.end_all(patience):
                    self._relay.forward(worker, answer.lines, answer.output)
            finally:
                self._tending.close()

    @property
    def _last_patience_s(self) -> float:
        return FORCED_STOP_S if self._run.stopping.is_requested else LAST_PATIENCE_S

    def _round(self, lots: list[Lot]) -> Iterator[AnyTask]:
        began, sources = time.monotonic(), sum(map(len, lots))
        self._peak = 0.0
        *before, last = self._stages
        for planned in before:
            lots = yield from self._pass_on(planned, lots)
        if lots:
            yield from self._finish(last, lots)
        seconds = time.monotonic() - began
        self._rounds.ended(sources, self._peak, seconds)
        told = {"sources": sources, "seconds": round(seconds, 3), "peak_bytes": int(self._peak)}
        self._run.events.emit("round_ended", **told)
        if seconds > _WORTH_A_LINE_S:
            LOG.info("actor pool: a round of %d sources took %.0f s", sources, seconds)

    def _pass_on(self, planned: PlannedStage, lots: list[Lot]) -> Any:
        """The turn of a stage with others behind it; what it gives waits for all of it."""
        given: list[Lot] = []
        nbytes = 0
        turn = self._turn(planned, lots)
        for call in turn.calls():
            given += [Lot.of(parcel) for parcel in call.given]
            nbytes += call.nbytes
            self._peak = max(self._peak, turn.nbytes_in, nbytes)
            yield from self._report(call)
        self._after(planned)
        return given

    def _finish(self, planned: PlannedStage, lots: list[Lot]) -> Iterator[AnyTask]:
        """The turn of the last stage: its outputs are fetched, and then count as made."""
        import ray

        turn = self._turn(planned, lots)
        for call in turn.calls():
            self._peak = max(self._peak, turn.nbytes_in)
            try:
                for parcel in call.given:
                    for output in ray.get(parcel.ref).unpack():
                        yield from self._run.add_output(output)
            except ray.exceptions.RayError as error:
                self._crew.setbacks.lost(call.keys, error)
                continue
            yield from self._report(call)
        self._after(planned)

    def _turn(self, planned: PlannedStage, lots: list[Lot]) -> Turn:
        """Takes the lots over: each is let go of when it was worked on."""
        wanted, chunks = self._still_wanted(lots), self._chunks[planned.index]
        lots.clear()
        is_first = planned is self._stages[0]
        return Turn(planned, wanted, chunks, self._crew, is_first=is_first)

    def _still_wanted(self, lots: list[Lot]) -> list[Lot]:
        """Without those that are made of void attempts alone."""
        attempts = self._repeats.attempts
        if not attempts:
            return list(lots)
        return [
            lot
            for lot in lots
            if any(attempts.get(s, a) <= a for keys in lot.keys for s, a in keys)
        ]

    def _report(self, call: Finished) -> Iterator[AnyTask]:
        yield from self._run.apply_report(call.report, [cast(AnyTask, _About(call.keys))])
        self._repeats.rerun_mixed()
        yield from self._crew.setbacks.shown()

    def _after(self, planned: PlannedStage) -> None:
        if self._sources.has_ended and not self._repeats:
            self._pools.release(planned)
