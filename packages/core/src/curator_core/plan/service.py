"""Services: pipelines that stay open, accept tasks as they arrive and answer each of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from curator_core.errors import CuratorError
from curator_core.model.records import QuarantineRecord
from curator_core.model.tasks import AnyTask


class BusyError(CuratorError, TimeoutError):
    """A service has no room for another task, or no reply yet, within the timeout."""


@dataclass(frozen=True)
class Reply:
    """The result of one submitted task: outputs, failures, or neither if it was dropped.

    If a stage made one output from several submitted tasks, they share a reply.
    """

    tickets: tuple[str, ...]
    submitted: tuple[AnyTask, ...]
    """The same task objects that were passed to `submit`."""

    outputs: tuple[AnyTask, ...] = ()
    failures: tuple[QuarantineRecord, ...] = ()
    seconds: float = 0.0
    """Seconds from when there was room for it until it was done."""

    @property
    def ticket(self) -> str:
        return self.tickets[0]


class Service(ABC):
    """A pipeline that is open for tasks. Leaving its `with` block closes it."""

    @abstractmethod
    def submit(self, task: AnyTask, timeout: float | None = None) -> str:
        """Submit a task and return the ticket that its reply will carry.

        Waits for room indefinitely, or up to `timeout` seconds, then raises `BusyError`.
        """

    @abstractmethod
    def take(self, timeout: float | None = None) -> Reply:
        """Return the next reply. Raise `BusyError` if there is none within `timeout` seconds."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of submitted tasks whose replies have not been taken."""

    @abstractmethod
    def close(self) -> None:
        """Accept no more tasks, finish those submitted and stop the workers.

        Replies can still be taken.
        """

    @abstractmethod
    def break_off(self) -> None:
        """Stop the workers now. Unfinished tasks get no reply."""

    def results(self) -> Iterator[Reply]:
        """Yield replies as they arrive, until the service is closed and all are taken."""
        while (reply := self._next_reply()) is not None:
            yield reply

    @abstractmethod
    def _next_reply(self) -> Reply | None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.break_off()
