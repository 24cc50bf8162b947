"""Services: pipelines that stay open, take tasks as they arrive and answer each of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from curator_core.errors import CuratorError, PipelineError
from curator_core.model.records import QuarantineRecord
from curator_core.model.tasks import AnyTask

if TYPE_CHECKING:
    from curator_core.plan.executor import Executor


class BusyError(CuratorError, TimeoutError):
    """A service has no room for another task, or no answer yet, within the time given."""


@dataclass(frozen=True)
class Reply:
    """All that became of one submitted task: outputs, failures, or neither where it was dropped.

    Where a stage made one output of several submitted tasks, they are answered together.
    """

    tickets: tuple[str, ...]
    submitted: tuple[AnyTask, ...]
    """The very tasks that were given to `submit`."""

    outputs: tuple[AnyTask, ...] = ()
    failures: tuple[QuarantineRecord, ...] = ()
    seconds: float = 0.0
    """From the moment that there was room for it until everything of it was done."""

    @property
    def ticket(self) -> str:
        return self.tickets[0]


class Service(ABC):
    """A pipeline that is open for tasks. Leaving its `with` block closes it."""

    @abstractmethod
    def submit(self, task: AnyTask, timeout: float | None = None) -> str:
        """Hand in a task; the ticket that its reply will carry.

        Waits until there is room: as long as it takes, or up to `timeout` seconds (`BusyError`).
        """

    @abstractmethod
    def take(self, timeout: float | None = None) -> Reply:
        """The next reply; `BusyError` where there is none within `timeout` seconds."""

    @abstractmethod
    def __len__(self) -> int:
        """How many submitted tasks have replies that are still to be taken."""

    @abstractmethod
    def close(self) -> None:
        """Take no more tasks, finish those there are, and end the workers. Replies stay here."""

    @abstractmethod
    def break_off(self) -> None:
        """End the workers now; what is under way gets no reply."""

    def results(self) -> Iterator[Reply]:
        """Replies as they come, until the service is closed and the last one has been taken."""
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


def refuse(executor: "Executor") -> PipelineError:
    """The error for executors that only run what has an end; it names one that can serve."""
    name = type(executor).__name__
    return PipelineError(
        f"{name} runs a pipeline to its end and cannot keep it open for tasks; use "
        "StreamingExecutor().open(...) (pip install curator-streaming)"
    )
