"""Wait for what calls to workers return."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

S = TypeVar("S")

_POLL_SHARE = 0.2
"""Share of the time that may go into polling; with many references pending a poll takes long."""


@dataclass(frozen=True, slots=True)
class Received(Generic[S]):
    """A result that arrived, or the `error` that Ray raised instead."""

    subject: S
    value: Any = None
    outputs: Any = None
    """The reference to the outputs, which stay in the object store."""
    error: Exception | None = None


class Inbox(Generic[S]):
    """References that are still to resolve, each with the subject that the driver knows it by."""

    def __init__(self) -> None:
        self._refs: dict[Any, tuple[S, Any]] = {}
        self._streams: dict[Any, S] = {}
        self._paused: dict[S, Any] = {}
        self._poll_at = 0.0

    def expect(self, ref: Any, subject: S, outputs: Any = None) -> None:
        self._refs[ref] = (subject, outputs)

    def expect_stream(self, stream: Any, subject: S) -> None:
        self._streams[stream] = subject

    @property
    def is_empty(self) -> bool:
        """Whether nothing is expected."""
        return not (self._refs or self._streams)

    def pause(self, subject: S) -> None:
        """Take nothing more from this stream for now, so that its stage waits."""
        for stream, about in list(self._streams.items()):
            if about == subject:
                del self._streams[stream]
                self._paused[subject] = stream

    def resume(self, subject: S) -> None:
        stream = self._paused.pop(subject, None)
        if stream is not None:
            self._streams[stream] = subject

    def is_paused(self, subject: S) -> bool:
        return subject in self._paused

    def forget_all(self) -> None:
        self._refs, self._streams, self._paused = {}, {}, {}

    def forget(self, subjects: "set[S]") -> None:
        self._refs = {k: v for k, v in self._refs.items() if v[0] not in subjects}
        self._streams = {k: v for k, v in self._streams.items() if v not in subjects}
        self._paused = {k: v for k, v in self._paused.items() if k not in subjects}

    def take(self, timeout_s: float) -> list[Received[S]]:
        """Return everything that has arrived, or wait for the first result."""
        waiting = [*self._refs, *self._streams]
        if not waiting:
            time.sleep(timeout_s)
            return []
        ready = self._wait(waiting, timeout_s)
        received: list[Received[S]] = []
        refs = [ref for ref in ready if ref in self._refs]
        for ref, value in zip(refs, get_all(refs), strict=True):
            subject, outputs = self._refs.pop(ref)
            error = value if isinstance(value, Exception) else None
            received.append(Received(subject, None if error else value, outputs, error))
        for stream in ready:
            if stream in self._streams:
                received += self._take_from(stream)
        return received

    def _wait(self, waiting: list[Any], timeout_s: float) -> list[Any]:
        import ray

        started = time.monotonic()
        if started < self._poll_at:  # collect more results first
            time.sleep(min(timeout_s, self._poll_at - started))
            started = time.monotonic()
            if started < self._poll_at:
                return []
        cpu_s = time.thread_time()
        ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        cpu_s = time.thread_time() - cpu_s
        self._poll_at = started + cpu_s / _POLL_SHARE
        if not ready and timeout_s > 0:
            ready, _ = ray.wait(waiting, num_returns=1, timeout=timeout_s)
        return list(ready)

    def _take_from(self, stream: Any) -> Iterator[Received[S]]:
        """Take a result with the reference to its outputs.

        A worker that dies between the two leaves a result without outputs, which is of no use.
        """
        subject = self._streams[stream]
        failure = stream.completed()  # takes the place of what a dead worker did not yield
        try:
            ref, outputs = next(stream), next(stream, failure)
        except StopIteration:
            del self._streams[stream]
            return
        [result] = get_all([failure if outputs == failure else ref])
        if isinstance(result, Exception):
            del self._streams[stream]
            yield Received(subject, error=result)
            return
        if result.report is not None or result.error is not None or result.is_aborted:
            del self._streams[stream]
        yield Received(subject, result, outputs)


def get_all(refs: list[Any]) -> list[Any]:
    """Get these objects; an error of Ray takes the place of its object."""
    import ray

    try:
        return list(ray.get(refs))
    except ray.exceptions.RayError:
        return [_get(ref) for ref in refs]


def _get(ref: Any) -> Any:
    import ray

    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return error
