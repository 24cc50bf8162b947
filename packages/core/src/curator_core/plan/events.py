"""Events of a run, and their listeners."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]


Listener: TypeAlias = Callable[[Event], None]


class Events:
    """Send every event to its listeners."""

    def __init__(self) -> None:
        self._listeners: list[tuple[str | None, Listener]] = []

    def listen(self, listener: Listener, kind: str | None = None) -> None:
        """Subscribe to all events, or to one kind."""
        self._listeners.append((kind, listener))

    def has_listener(self, kind: str) -> bool:
        """Return whether there is a listener for this kind."""
        return any(wanted in (None, kind) for wanted, _ in self._listeners)

    def emit(self, kind: str, **facts: Any) -> None:
        if not self.has_listener(kind):
            return
        event = {"time": round(time.time(), 3), "event": kind, **facts}
        for wanted, listener in self._listeners:
            if wanted in (None, kind):
                listener(event)
