"""Scenes: workers and queues of a run at one moment, as every executor tells them."""

from collections import Counter

from curator_core import PlannedStage
from curator_core.model.snapshot import ExecutorState, Queue
from curator_ray.storing import StoreGauge

from curator_streaming.crews import Crew, Member
from curator_streaming.scheduling.scheduler import Scheduler


class Scene:
    """Looks at the crew and the scheduler of one run, from the thread that drives it."""

    def __init__(self, crew: Crew, scheduler: Scheduler, stages: tuple[PlannedStage, ...]) -> None:
        self._crew = crew
        self._scheduler = scheduler
        self._stages = stages
        self._store = StoreGauge()

    def __call__(self) -> ExecutorState:
        members = list(self._crew.members.values())
        queues = self._scheduler.queues()
        store = self._store.read()
        calls = (call for member in members for call in list(member.calls.values())[:1])
        return ExecutorState(
            Counter(map(_state_of, members)),
            {self._stages[first].index: Queue(*waiting) for first, waiting in queues.items()},
            Counter(self._stages[call.first].index for call in calls),
            store.used,
            store.spilled,
            store.limit,
        )


def _state_of(member: Member) -> str:
    if member.leaving:
        return "stopping"
    if not member.is_up:
        return "starting"
    return "busy" if member.calls else "idle"
