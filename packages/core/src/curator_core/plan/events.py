"""Events of a run: who listens to them, and how they are sent."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]


Listener: TypeAlias = Callable[[Event], None]


class Events:
    """Hands every event to its listeners."""

    def __init__(self) -> None:
        self._listeners: list[tuple[str | None, Listener]] = []

    def listen(self, listener: Listener, kind: str | None = None) -> None:
        """Hear of every event, or of one kind."""
        self._listeners.append((kind, listener))

    def are_heard(self, kind: str) -> bool:
        """Whether anybody listens to this kind."""
        return any(wanted in (None, kind) for wanted, _ in self._listeners)

    def tell(self, kind: str, **facts: Any) -> None:
        if not self.are_heard(kind):
            return
        event = {"time": round(time.time(), 3), "event": kind, **facts}
        for wanted, listener in self._listeners:
            if wanted in (None, kind):
                listener(event)
