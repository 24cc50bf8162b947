"""Driving: the scheduler on one side, workers on Ray on the other, the run's accounts between."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from curator_core.errors import CuratorError, StageError
from curator_core.outcomes import AnyTask
from curator_core.plans import Plan
from curator_ray.hosts import Hosts
from curator_ray.surveying import Survey

from curator_streaming.accounts import Accounts
from curator_streaming.capacities import capacity_of
from curator_streaming.crews import Crew, Subject
from curator_streaming.hearing import Hearing
from curator_streaming.inboxes import Inbox
from curator_streaming.options import StreamingOptions
from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.sources import Sources
from curator_streaming.stores import Store
from curator_streaming.suspicions import Suspicions

if TYPE_CHECKING:
    from curator_core.runs.running import Run

LOG = logging.getLogger("curator_core")

_LOOK_EVERY_S = 0.1
_SURVEY_EVERY_S = 1.0
_FOR_EVER_S = 1e9


class Driver:
    """One run on one cluster."""

    def __init__(
        self,
        plan: Plan,
        run: "Run",
        steps: list[StepSpec],
        options: StreamingOptions,
        survey: Survey,
        hosts: Hosts,
    ) -> None:
        stores = [node.object_store_gb * 1e9 for node in survey.facts.nodes]
        self._plan = plan
        self._run = run
        self._options = options
        self._survey = survey
        self._stages = tuple(plan.stages[p.index] for p in run.worker_stages)
        self._scheduler = Scheduler(steps, options.settings(sum(stores), max(stores, default=0.0)))
        self._store = Store()
        self._known = Suspicions(run)
        self._accounts = Accounts(run)
        self._inbox: Inbox[Subject] = Inbox()
        self._crew = Crew(hosts, self._stages, self._inbox, self._store)
        self._hearing = Hearing(run, steps, self._crew, self._store, self._accounts, self._known)
        self._sources = Sources(run, self._store, hosts.baggage, self._known)
        self._has_told_end = False
        self._is_stopping = self._is_overdue = False
        self._next_look = self._next_survey = 0.0
        self._next_word = time.monotonic() + options.logging_interval
        self._failure: CuratorError | None = None
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

    def outputs(self) -> Iterator[AnyTask]:
        """Everything the pipeline gives, as it comes; closing it ends the workers."""
        try:
            for node in self._survey.facts.nodes:
                capacity = capacity_of(node, self._options)
                self._tell(events.NodeJoined(_now(), node.node_id, capacity))
            while not self._scheduler.is_over:
                yield from self._turn()
        finally:
            self._crew.end_all()
            self._sum_up()

    def _turn(self) -> Iterator[AnyTask]:
        self._offer_sources()
        self._do(self._scheduler.handle(self._told()))
        if self._scheduler.is_over and not self._failure:
            return
        for came in self._inbox.take(0.0 if self._has_news else _LOOK_EVERY_S):
            self._hearing.hear(came)
        yield from self._accounts.showing()
        if failure := self._failure or self._hearing.failure:
            raise failure
        self._run_again()
        self._look_after()

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
        return bool(self._hearing.news or self._sources.wanted or self._accounts.taken)

    def _offer_sources(self) -> None:
        if self._sources.wanted:
            parcels = self._sources.take()
            if parcels:
                self._tell(events.SourcesOffered(_now(), tuple(parcels)))
        if self._sources.has_ended and not self._has_told_end:
            self._has_told_end = True
            self._tell(events.SourcesEnded(_now()))

    def _run_again(self) -> None:
        """Offer sources anew, before anything else that may seem to be the end."""
        again, self._accounts.again = self._accounts.again, []
        if not again:
            return
        void = self._store.void(self._accounts.attempts)
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
        self._run.events.tell(
            "scheduling", decision=action.decision, reason=action.reason, stage=stage
        )

    # Now and then

    def _look_after(self) -> None:
        now = _now()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY_S
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
        if stopping.is_asked and not self._is_stopping:
            self._is_stopping = True
            self._sources.wanted = 0
            self._tell(events.StopAsked(now, now + _FOR_EVER_S))
        if stopping.is_overdue and not self._is_overdue:
            self._is_overdue = True
            self._tell(events.StopAsked(now, now))
            self._tell(events.Tick(now))

    def _survey_nodes(self, now: float) -> None:
        changes = self._survey.changes()
        for node in changes.left:
            self._hearing.node_gone(node.node_id)
            self._tell(events.NodeLost(now, node.node_id, f"{node.name} is gone"))
        for node in changes.joined:
            capacity = capacity_of(node, self._options)
            self._tell(events.NodeJoined(now, node.node_id, capacity))

    def _say_how_it_goes(self) -> None:
        summary = self._scheduler.summary()
        told = (f"{s.name}: {s.tasks} done, {s.waiting_tasks} wait" for s in summary.steps)
        LOG.info("streaming: %s; %d workers", ", ".join(told), len(self._crew.members))

    def _sum_up(self) -> None:
        summary = self._scheduler.summary()
        self._run.events.tell("workers_summed_up", **asdict(summary))
        if summary.advice:
            LOG.info("streaming: the bottleneck was %s; %s", summary.bottleneck, summary.advice)


def _now() -> float:
    return time.monotonic()
