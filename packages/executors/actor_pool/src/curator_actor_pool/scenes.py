"""Scenes: actors and queues of a run at one moment, as every executor tells them."""

from collections import Counter

from curator_core.model.snapshot import ExecutorState, Queue
from curator_ray.cluster.object_store import StoreMonitor

from curator_actor_pool.pools import Member, Pools


class Scene:
    """Looks at the pools; the stage whose turn it is tells what waits for it."""

    def __init__(self, pools: Pools) -> None:
        self.stage_index = -1
        self.waiting = Queue()
        self._pools = pools
        self._store = StoreMonitor()

    def __call__(self) -> ExecutorState:
        members = list(self._pools.members.values())
        store = self._store.read()
        busy = sum(bool(member.calls) for member in members)
        return ExecutorState(
            Counter(map(_state_of, members)),
            {self.stage_index: self.waiting},
            {self.stage_index: busy},
            store.used,
            store.spilled,
            store.limit,
        )


def _state_of(member: Member) -> str:
    if member.ended_by is not None:
        return "stopping"
    if not member.is_up:
        return "starting"
    return "busy" if member.calls else "idle"
