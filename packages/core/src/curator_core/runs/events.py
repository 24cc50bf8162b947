"""Events: what happened in a run, in order, for people and programs that look on."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from curator_core.filesystems import is_local, join, open_filesystem
from curator_core.runs.lines import to_line
from curator_core.runs.pulses import Pulse
from curator_core.secrets import redact
from curator_core.staging import explained

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


class Thinning:
    """Which pulses are worth keeping: all of the first minutes, ever fewer of a long run."""

    def __init__(self) -> None:
        self._next = 0.0

    def takes(self, pulse: Pulse) -> bool:
        if pulse.seconds < self._next and pulse.status == "running":
            return False
        self._next = pulse.seconds + max(_KEPT_EVERY_S, pulse.seconds / _KEPT_OF_EACH_SPAN)
        return True


_KEPT_EVERY_S = 1.0
_KEPT_OF_EACH_SPAN = 100
"""A run twice as long has some 70 more."""


class EventFile:
    """Writes events as lines of JSON; on an object store, as one object at the end."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        fs, path = open_filesystem(run_dir, storage_options)
        self._fs = fs
        self._path = join(path, "events.jsonl")
        self._local = open(self._path, "ab", buffering=0) if is_local(fs) else None  # noqa: SIM115
        self._kept: list[bytes] = []
        self._thinning = Thinning()

    def __call__(self, event: Event) -> None:
        if "pulse" in event:
            if self._thinning.takes(event["pulse"]):
                with suppress(OSError):  # a full disk ends the run where data is lost by it
                    self._write(to_line({**event, "pulse": event["pulse"].in_short()}))
            return
        with explained(self._path):
            self._write(redact(to_line(event).decode()).encode())

    def _write(self, line: bytes) -> None:
        if self._local:
            self._local.write(line)
        else:
            self._kept.append(line)

    def close(self) -> None:
        if self._local:
            self._local.close()
        elif self._kept:
            before = self._fs.cat_file(self._path) if self._fs.exists(self._path) else b""
            self._fs.pipe_file(self._path, before + b"".join(self._kept))
