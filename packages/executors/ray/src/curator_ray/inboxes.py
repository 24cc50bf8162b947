"""Inboxes: what the driver waits for, and what has come."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Came(Generic[S]):
    """Something that was waited for. `error` is what Ray raised instead of an answer."""

    subject: S
    told: Any = None
    parcel: Any = None
    error: Exception | None = None


class Inbox(Generic[S]):
    """References to answers that are still to come, each with what it is about."""

    def __init__(self) -> None:
        self._answers: dict[Any, tuple[S, Any]] = {}
        self._flows: dict[Any, S] = {}
        self._held: dict[S, Any] = {}

    def expect(self, answer: Any, subject: S, parcel: Any = None) -> None:
        self._answers[answer] = (subject, parcel)

    def expect_flow(self, flow: Any, subject: S) -> None:
        self._flows[flow] = subject

    @property
    def is_empty(self) -> bool:
        """Whether nothing is waited for."""
        return not (self._answers or self._flows)

    def hold(self, subject: S) -> None:
        """Take nothing more of this flow for now."""
        for flow, about in list(self._flows.items()):
            if about == subject:
                del self._flows[flow]
                self._held[subject] = flow

    def go_on(self, subject: S) -> None:
        flow = self._held.pop(subject, None)
        if flow is not None:
            self._flows[flow] = subject

    def holds(self, subject: S) -> bool:
        return subject in self._held

    def forget_all(self) -> None:
        """Nobody waits for anything any more."""
        self._answers, self._flows, self._held = {}, {}, {}

    def forget(self, subjects: "set[S]") -> None:
        self._answers = {k: v for k, v in self._answers.items() if v[0] not in subjects}
        self._flows = {k: v for k, v in self._flows.items() if v not in subjects}
        self._held = {k: v for k, v in self._held.items() if k not in subjects}

    def take(self, patience_s: float) -> list[Came[S]]:
        """Wait for the first, then give everything that is there."""
        import ray

        waiting = [*self._answers, *self._flows]
        if not waiting:
            time.sleep(patience_s)
            return []
        ready, _ = ray.wait(waiting, num_returns=1, timeout=patience_s)
        if ready and len(waiting) > 1:
            ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        came: list[Came[S]] = []
        answers = [ref for ref in ready if ref in self._answers]
        for ref, told in zip(answers, _told(answers), strict=True):
            subject, parcel = self._answers.pop(ref)
            error = told if isinstance(told, Exception) else None
            came.append(Came(subject, None if error else told, parcel, error))
        for flow in ready:
            if flow in self._flows:
                came += self._next_of(flow)
        return came

    def _next_of(self, flow: Any) -> Iterator[Came[S]]:
        subject = self._flows[flow]
        try:
            [told] = _told([next(flow)])
            parcel = None if isinstance(told, Exception) else next(flow)
        except StopIteration:
            del self._flows[flow]
            return
        if isinstance(told, Exception):
            del self._flows[flow]
            yield Came(subject, error=told)
            return
        if told.report is not None or told.error is not None or told.broken_off:
            del self._flows[flow]
        yield Came(subject, told, parcel)


def _told(refs: list[Any]) -> list[Any]:
    """What these references stand for; an error of Ray in the place of what it is about."""
    import ray

    try:
        return list(ray.get(refs))
    except ray.exceptions.RayError:
        return [_one(ref) for ref in refs]


def _one(ref: Any) -> Any:
    import ray

    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return error
