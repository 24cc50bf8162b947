"""Handovers: outputs pass from the thread that has them to the one that takes them, lot by lot."""

import threading
from collections.abc import Callable, Iterator, Sequence

from curator_core import AnyTask

_LOOK_EVERY_S = 0.1


class Handover:
    """Whoever gives waits until all was taken: only then may it count as done."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lot: Sequence[AnyTask] = ()
        self._is_closed = self._has_ended = False
        self._error: BaseException | None = None

    # For the one who gives

    def give(self, outputs: Sequence[AnyTask], meanwhile: Callable[[], None]) -> bool:
        """Whether all of them were taken; `meanwhile` is called while they are not."""
        with self._changed:
            self._lot = outputs
            self._changed.notify_all()
        while self._lot and not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: not self._lot or self._is_closed, _LOOK_EVERY_S)
            if self._lot:
                meanwhile()
        return not self._lot

    def end(self, error: BaseException | None) -> None:
        """Nothing more will come; `error` is raised for whoever takes the outputs."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify_all()

    # For the one who takes

    def __iter__(self) -> Iterator[AnyTask]:
        while self._has_more():
            yield from self._lot
            with self._changed:
                self._lot = ()
                self._changed.notify_all()

    def close(self) -> None:
        """Nobody takes anything any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _has_more(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._lot or self._has_ended)
            if not self._lot and self._error is not None:
                raise self._error
            return bool(self._lot)
