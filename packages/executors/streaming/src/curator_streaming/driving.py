"""Driving: the scheduler on one side, workers on Ray on the other, the run's accounts between."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from curator_core import AnyTask, PlannedStage
from curator_core.errors import CuratorError, StageError
from curator_ray.hosts import Hosts
from curator_ray.inboxes import Came, Inbox
from curator_ray.interrupting import HURRIED_S
from curator_ray.reservations import Reservations
from curator_ray.surveying import Survey
from curator_ray.suspicions import Suspicions

from curator_streaming.accounts import Accounts
from curator_streaming.capacities import capacity_of
from curator_streaming.crews import LAST_PATIENCE_S, Crew, Subject
from curator_streaming.hearing import Hearing
from curator_streaming.options import StreamingOptions
from curator_streaming.outboxes import Sink
from curator_streaming.scenes import Scene
from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.steps import steps_of
from curator_streaming.sources import Sources
from curator_streaming.stores import Store
from curator_streaming.telling import bottleneck, lines_of, progress

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_LOOK_EVERY_S = 0.1
_LOOK_EVERY_SERVING_S = 0.01
_LEAST_PATIENCE_S = 0.001
_SURVEY_EVERY_S = 1.0
_FOR_EVER_S = 1e9
_LAST_PATIENCE_S = LAST_PATIENCE_S + 15.0
"""How long the thread may take to end: its workers first, and then what else it is busy with."""

_WORTH_A_WARNING = ("wait", "large")


@dataclass(frozen=True)
class Ground:
    """Where a run takes place, and how."""

    options: StreamingOptions
    settings: Settings
    survey: Survey
    hosts: Hosts


class Intake(Protocol):
    """Where tasks for the first stage come from."""

    wanted: int

    @property
    def has_ended(self) -> bool: ...

    @property
    def is_ready(self) -> bool: ...

    def take(self) -> list[Parcel]: ...

    def packed(self, tasks: list[AnyTask]) -> list[Parcel]: ...


class Driver:
    """One run on one cluster, driven by a thread of its own.

    So workers are looked after however slowly the outputs are taken. `end` is called last of all.
    """

    def __init__(
        self,
        run: "RemoteRun",
        stages: tuple[PlannedStage, ...],
        ground: Ground,
        sink: Sink,
        bell: threading.Event,
    ) -> None:
        steps = steps_of(stages, fuses=not ground.settings.has_barriers)
        self._run = run
        self._options = ground.options
        self._survey = ground.survey
        self._reservations = Reservations(
            lambda node: ground.options.cpus_of(node.cpus), is_alone=ground.survey.is_alone
        )
        self._stages = stages
        self._sink = sink
        self._bell = bell
        self._scheduler = Scheduler(steps, ground.settings)
        self._store = Store()
        self._known = Suspicions(run)
        self._accounts = Accounts(run, sink)
        self._inbox: Inbox[Subject] = Inbox()
        self._crew = Crew(ground.hosts, stages, self._inbox, self._store)
        self._hearing = Hearing(run, steps, self._crew, self._store, self._accounts, self._known)
        self._sources: Intake = Sources(run, self._store, ground.hosts.baggage, self._known)
        self._patience_s = self._look_every_s = _LOOK_EVERY_S
        self._is_serving = False
        self._has_told_end = False
        self._is_stopping = self._is_overdue = self._is_broken_off = False
        self._is_left_behind = False
        self._next_look = self._next_survey = 0.0
        self._next_word = time.monotonic() + self._options.logging_interval
        self._failure: CuratorError | None = None
        self._run.executor_state = Scene(self._crew, self._scheduler, stages)
        self._thread = threading.Thread(target=self._drive, name="curator-streaming", daemon=True)
        self._doing: dict[type, Callable[[Any], None]] = {
            actions.StartWorker: self._start,
            actions.StopWorker: self._stop,
            actions.Dispatch: self._dispatch,
            actions.TearDown: lambda a: self._crew.drop(a.worker, a.first, a.last),
            actions.Pause: lambda a: self._inbox.hold(self._subject(a.call)),
            actions.Resume: lambda a: self._inbox.go_on(self._subject(a.call)),
            actions.Release: lambda a: self._store.release(a.handle),
            actions.AskForSources: self._ask,
            actions.GiveUp: self._give_up,
            actions.Fail: self._fail,
            actions.Explain: self._explain,
        }

    def serve(self, requests: Callable[[Store, Suspicions], Intake], patience_s: float) -> None:
        """Take tasks from callers who wait for the answer, instead of those that the run lists."""
        self._sources = requests(self._store, self._known)
        self._patience_s = patience_s
        self._look_every_s = _LOOK_EVERY_SERVING_S
        self._is_serving = True

    def begin(self) -> None:
        self._thread.start()

    def finish(self, *, breaks_off: bool) -> None:
        """Wait until every worker has ended; with `breaks_off` they are told to do so now."""
        self._is_broken_off = self._is_broken_off or breaks_off
        self._bell.set()
        self._thread.join(_LAST_PATIENCE_S if self._is_broken_off else None)
        if self._thread.is_alive():  # it is held up, by a file system say: do without it
            self._is_left_behind = True
            self._crew.end_all()

    def _drive(self) -> None:
        failure: BaseException | None = None
        try:
            for node in self._survey.facts.nodes:
                self._reservations.want(node)
            while not (self._is_over or self._is_broken_off):
                self._turn()
        except BaseException as error:  # noqa: BLE001 - it goes to the thread that is to see it
            failure = error
        if self._is_left_behind:  # Ray is gone by now, and ends the process that asks it for more
            return
        try:
            self._crew.end_all(HURRIED_S if self._run.stopping.is_requested else LAST_PATIENCE_S)
            self._reservations.close()
            self._sum_up()
        except BaseException as error:  # noqa: BLE001 - as above; what came first says more
            failure = failure or error
        self._sink.end(failure)

    @property
    def _is_over(self) -> bool:
        return self._scheduler.is_over and not self._accounts.has_left

    def _turn(self) -> None:
        for node, cpus in self._reservations.granted():
            capacity = replace(capacity_of(node, self._options), cpus=cpus)
            self._tell(events.NodeJoined(_now(), node.node_id, capacity))
        self._offer_sources()
        self._do(self._scheduler.handle(self._told()))
        if self._is_over and not self._failure:
            return
        for came in self._heard():
            self._hearing.hear(came)
        if self._hearing.misses_node:
            self._hearing.misses_node = False
            self._survey_nodes(_now())
        self._accounts.settle()
        if failure := self._failure or self._hearing.failure:
            raise failure
        self._run_again()
        self._look_after()

    def _heard(self) -> list[Came[Subject]]:
        """What has come; waits for it a little, or until the bell is rung."""
        if self._has_news:
            return self._inbox.take(0.0)
        if self._inbox.is_empty:
            self._bell.wait(_LOOK_EVERY_S if self._scheduler.is_idle else self._look_every_s)
            self._bell.clear()
            return []
        patience = min(self._patience_s, self._look_at - _now())
        return self._inbox.take(max(patience, _LEAST_PATIENCE_S))

    # Telling the scheduler

    def _tell(self, event: events.Event) -> None:
        self._hearing.news.append(event)

    def _told(self) -> list[events.Event]:
        news, self._hearing.news = self._hearing.news, []
        if self._accounts.taken:
            news.append(events.Delivered(_now(), self._accounts.taken))
            self._accounts.taken = 0
        return news

    @property
    def _has_news(self) -> bool:
        return bool(self._hearing.news or self._sources.is_ready or self._accounts.taken)

    def _offer_sources(self) -> None:
        if self._sources.is_ready:
            parcels = self._sources.take()
            if parcels:
                self._tell(events.SourcesOffered(_now(), tuple(parcels)))
        if self._sources.has_ended and not self._has_told_end:
            self._has_told_end = True
            self._tell(events.SourcesEnded(_now()))

    def _run_again(self) -> None:
        """Offer sources anew, before anything else that may seem to be the end."""
        again = self._accounts.repeats.take()
        if not again:
            return
        void = self._store.void(self._accounts.repeats.attempts)
        news: list[events.Event] = [events.Withdrawn(_now(), void)] if void else []
        if not self._is_stopping:
            news.append(events.SourcesOffered(_now(), tuple(self._sources.packed(again))))
        self._hearing.news[:0] = news

    # Doing what it asks for

    def _do(self, asked: list[actions.Action]) -> None:
        for action in asked:
            self._doing[type(action)](action)

    def _start(self, action: actions.StartWorker) -> None:
        node = self._survey.facts.node(action.node)
        if node is not None:  # or it has just gone, and that is told at the next survey
            self._crew.start(action, node)

    def _stop(self, action: actions.StopWorker) -> None:
        member = self._crew.members.get(action.worker)
        if member is None:
            return
        if action.at_once and not self._is_stopping:
            self._hearing.killed(member, action.reason)
            return
        if action.at_once:
            member.host.break_off()
        self._crew.let_end(member, "stopped", action.reason)

    def _dispatch(self, action: actions.Dispatch) -> None:
        if action.condemned:
            for piece, task_id in self._store.ids_of(action.pieces):
                index = self._stages[action.first].index
                self._known.condemn(index, task_id, self._hearing.reason_for(piece))
        self._crew.dispatch(action, self._known.for_call(self._store.keys_of(action.pieces)))

    def _subject(self, call: int) -> Subject:
        for member in self._crew.members.values():
            if call in member.calls:
                return Subject("call", member.number, call)
        return Subject("call", -1, call)

    def _ask(self, action: actions.AskForSources) -> None:
        self._sources.wanted += action.tasks

    def _give_up(self, action: actions.GiveUp) -> None:
        keys = self._store.keys_of([action.piece])
        self._accounts.give_up(keys, f"its worker {action.reason}", self._stages[action.first])

    def _fail(self, action: actions.Fail) -> None:
        known = None if action.first is None else self._hearing.setup_errors.get(action.first)
        name = "" if action.first is None else self._stages[action.first].name
        self._failure = known or StageError(
            f"the run cannot go on: {action.reason}; what is finished is kept, and the same "
            "command does the rest",
            stage=name,
        )

    def _explain(self, action: actions.Explain) -> None:
        stage = None if action.first is None else self._stages[action.first].name
        self._run.events.emit(
            "scheduling", decision=action.decision, reason=action.reason, stage=stage
        )
        if action.decision in _WORTH_A_WARNING:
            LOG.warning("streaming: %s", action.reason)

    # Now and then

    @property
    def _look_at(self) -> float:
        return min(self._next_look, self._scheduler.tells_at or _FOR_EVER_S)

    def _look_after(self) -> None:
        now = _now()
        if now < self._look_at:
            return
        self._next_look = now + self._look_every_s
        self._run.tick()
        self._tell(events.Tick(now))
        self._look_for_stop(now)
        for member in self._crew.overdue():
            self._hearing.gone(member)
        if now >= self._next_survey:
            self._next_survey = now + _SURVEY_EVERY_S
            self._survey_nodes(now)
        if now >= self._next_word:
            self._next_word = now + self._options.logging_interval
            self._say_how_it_goes()

    def _look_for_stop(self, now: float) -> None:
        stopping = self._run.stopping
        if stopping.is_requested and not self._is_stopping:
            self._is_stopping = True
            self._sources.wanted = 0
            self._tell(events.StopAsked(now, now + _FOR_EVER_S))
        if stopping.is_overdue and not self._is_overdue:
            self._is_overdue = True
            self._crew.hurry()
            self._tell(events.StopAsked(now, now))
            self._tell(events.Tick(now))

    def _survey_nodes(self, now: float) -> None:
        changes = self._survey.changes()
        for node in changes.left:
            self._reservations.gone(node.node_id)
            self._hearing.node_gone(node.node_id)
            self._tell(events.NodeLost(now, node.node_id, f"{node.name} is gone"))
        for node in changes.joined:
            self._reservations.want(node)

    def _say_how_it_goes(self) -> None:
        LOG.info("streaming: %s", progress(self._scheduler.summary(), len(self._crew.members)))

    def _sum_up(self) -> None:
        summary = self._scheduler.summary()
        self._run.events.emit("workers_summed_up", **asdict(summary))
        if self._is_serving:
            return  # what it waited for was its callers
        for line in lines_of(summary):
            LOG.info("streaming: %s", line)
        if summary.bottleneck:
            self._run.result.notes.append(bottleneck(summary))


def _now() -> float:
    return time.monotonic()
