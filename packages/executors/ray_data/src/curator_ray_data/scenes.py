"""Scenes: workers of a run at one moment, read from their posts.

What waits between stages is Ray Data's own affair; counts tell how many tasks that is.
"""

from collections import Counter

from curator_core.model.snapshot import ExecutorState
from curator_ray.cluster.object_store import StoreMonitor

from curator_ray_data.casualties import Camp


class Scene:
    """Looks at the camp; workers on other machines are not looked at, for that takes long."""

    def __init__(self, camp: Camp) -> None:
        self._camp = camp
        self._store = StoreMonitor()

    def __call__(self) -> ExecutorState:
        notes = self._camp.notes_here()
        at_work = [note.stage_index for note in notes if note is not None]
        store = self._store.read()
        return ExecutorState(
            {"busy": len(at_work), "idle": len(notes) - len(at_work)},
            None,
            Counter(at_work),
            store.used,
            store.spilled,
            store.limit,
        )
