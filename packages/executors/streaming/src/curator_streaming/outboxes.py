"""Outboxes: outputs on their way from the thread that drives to whoever takes them."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from curator_core import AnyTask


class Sink(Protocol):
    """Where outputs go. What they were made of is done only when they have been taken."""

    @property
    def given(self) -> int:
        """How many outputs were put in so far."""
        ...

    @property
    def taken(self) -> int:
        """How many of them are with the one they are for."""
        ...

    @property
    def has_room(self) -> bool: ...

    def put(self, outputs: Sequence[AnyTask], size: int) -> None: ...

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more will come; `error` is for whoever takes the outputs."""
        ...


class Outbox:
    """A hand-over that never makes the driving thread wait: it looks for room before it fetches."""

    def __init__(self, bell: threading.Event, room: int = 32 << 20) -> None:
        self.given = 0
        self.taken = 0
        self.is_closed = False
        self._bell = bell
        self._room = room
        self._lots: deque[tuple[Sequence[AnyTask], int]] = deque()
        self._held = 0
        self._changed = threading.Condition()
        self._has_ended = False
        self._error: BaseException | None = None

    # For the one who drives

    @property
    def has_room(self) -> bool:
        return self._held < self._room

    def put(self, outputs: Sequence[AnyTask], size: int) -> None:
        if not outputs:
            return
        with self._changed:
            self.given += len(outputs)
            self._held += size
            self._lots.append((outputs, size))
            self._changed.notify()

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more will come; `error` is raised for whoever takes the outputs."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify()

    # For the one who takes

    def __iter__(self) -> Iterator[AnyTask]:
        while (lot := self._next_lot()) is not None:
            outputs, size = lot
            for output in outputs:
                yield output
                self.taken += 1
            with self._changed:
                self._held -= size
            self._bell.set()

    def close(self) -> None:
        """Nobody takes anything any more."""
        self.is_closed = True
        self._bell.set()

    def _next_lot(self) -> tuple[Sequence[AnyTask], int] | None:
        with self._changed:
            while not self._lots and not self._has_ended:
                self._changed.wait()
            if self._lots:
                return self._lots.popleft()
            if self._error is not None:
                raise self._error
            return None
