"""An open pipeline: it stays up on a cluster and answers tasks as they arrive."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from curator_core import AnyTask, BusyError, Empty, Plan, Reply, RunResult, Service
from curator_core.errors import PipelineError, StageError
from curator_core.model.ids import fingerprint
from curator_core.run.sources import Source
from curator_ray.recovery import CrashHistory
from curator_ray.transfer.modules import PlanPacker

from curator_streaming.engine.blocks import BlockTable
from curator_streaming.engine.driver import Driver, EngineContext
from curator_streaming.scheduler.blocks import Block

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun

LOG = logging.getLogger("curator_core")

_MAX_WAIT_S = 0.003
"""How long the driver may wait for replies before it looks for new tasks."""

_SLOW_S = 10.0
"""After how long a caller that waits gets a warning."""


@dataclass(frozen=True)
class Request:
    """A submitted task."""

    source: Source
    submitted: AnyTask
    since: float = field(default_factory=time.monotonic)


class RequestQueue:
    """Submitted tasks that no worker has yet: callers add them, the driver takes them."""

    def __init__(self, run: "ActiveRun", packer: PlanPacker, wakeup: threading.Event) -> None:
        self.wanted = 0
        self._run = run
        self._baggage = packer
        self._wakeup = wakeup
        self._waiting: deque[Request] = deque()
        self._is_closed = False
        self._blocks: BlockTable
        self._crashes: CrashHistory

    def connect(self, blocks: BlockTable, crashes: CrashHistory) -> "RequestQueue":
        """Set where tasks go when the driver takes them."""
        self._blocks, self._crashes = blocks, crashes
        return self

    # For callers

    def add(self, request: Request) -> None:
        self._waiting.append(request)
        self._wakeup.set()

    def close(self) -> None:
        """Announce that no more tasks will come."""
        self._is_closed = True
        self._wakeup.set()

    # For the driver

    @property
    def has_ended(self) -> bool:
        return self._is_closed and not self._waiting

    @property
    def is_ready(self) -> bool:
        return self.wanted > 0 and bool(self._waiting)

    def take(self) -> list[Block]:
        tasks: list[AnyTask] = []
        while self._waiting and len(tasks) < self.wanted:
            task = self._run.admit(self._waiting.popleft().source)
            self._crashes.add_source(task)
            tasks.append(task)
        self.wanted -= len(tasks)
        return self.store(tasks)

    def store(self, tasks: list[AnyTask]) -> list[Block]:
        """Store each task as a block of its own, since each is answered separately."""
        for kind in {type(task) for task in tasks}:
            self._baggage.add_task_type(kind)
        return [self._blocks.put([task]) for task in tasks]


class StreamingService(Service):
    """Made by `StreamingExecutor.open`. Every method may be called from any thread."""

    def __init__(
        self,
        run: "ActiveRun",
        open_context: Callable[[], AbstractContextManager[EngineContext]],
        most_open: int,
        input_type: type[AnyTask],
    ) -> None:
        self._run = run
        self._input_type = input_type
        self._most_open = most_open
        self._changed = threading.Condition()
        self._open: dict[str, Request] = {}
        self._outputs: dict[str, list[AnyTask]] = {}
        self._replies: deque[Reply] = deque()
        self._submitted = 0
        self._is_closed = self._has_ended = False
        self._error: BaseException | None = None
        self.added = self.consumed = 0
        self.has_room = True
        self._closing = ExitStack()
        run.events.listen(self._on_sources_done, "sources_done")
        with ExitStack() as opening:
            self._driver, self._requests = self._create_driver(
                opening.enter_context(open_context())
            )
            self._closing = opening.pop_all()
        self._driver.start()

    def _create_driver(self, context: EngineContext) -> tuple[Driver, RequestQueue]:
        wakeup = threading.Event()
        requests = RequestQueue(self._run, context.launcher.packer, wakeup)
        driver = Driver(self._run, self._run.worker_stages, context, self, wakeup)
        driver.serve(requests.connect, _MAX_WAIT_S)
        return driver, requests

    @property
    def result(self) -> RunResult:
        """The result so far; it has counts per stage once the service is closed."""
        return self._run.result

    # For callers

    def submit(self, task: AnyTask, timeout: float | None = None) -> str:
        if not isinstance(task, self._input_type):
            raise PipelineError(
                f"the first stage takes {self._input_type.__name__}, but got a "
                f"{type(task).__name__}: {task!r:.100}"
            )
        with self._changed:
            self._wait_for(self._can_submit, timeout, self._describe_full)
            if self._is_closed:
                raise PipelineError(
                    "the service is closed and takes no more tasks; open another one"
                )
            self._submitted += 1
            ticket = fingerprint("submitted", self._run.token, str(self._submitted))
            own = copy(task)
            own.task_id = ticket
            request = Request(Source(ticket, own), task)
            self._open[ticket] = request
            self._requests.add(request)
        return ticket

    def take(self, timeout: float | None = None) -> Reply:
        reply = self._next_reply(timeout)
        if reply is None:
            raise PipelineError("the service is closed and has no more replies")
        return reply

    def __len__(self) -> int:
        return len(self._open) + sum(len(reply.tickets) for reply in self._replies)

    def close(self) -> None:
        if not self._close_input():
            return
        try:
            self._driver.finish(abort=False)
        except BaseException:
            self._end(abort=True)
            raise
        self._end(abort=False)
        if self._error is not None and not self._replies:
            raise self._error

    def break_off(self) -> None:
        if self._close_input():
            self._end(abort=True)

    def _close_input(self) -> bool:
        """Take no more tasks; return False if it was closed before."""
        with self._changed:
            was_open, self._is_closed = not self._is_closed, True
            self._requests.close()
            self._changed.notify_all()
        return was_open

    def _end(self, *, abort: bool) -> None:
        try:
            if abort:
                self._driver.finish(abort=True)
        finally:
            self._closing.close()
            self._run.fail("failed" if self._error else "broken off" if abort else "closed")

    def _next_reply(self, timeout: float | None = None) -> Reply | None:
        with self._changed:
            self._wait_for(self._can_take, timeout, self._describe_empty)
            if self._replies:
                reply = self._replies.popleft()
                self._changed.notify_all()
                return reply
        return None

    def _can_take(self) -> bool:
        return bool(self._replies) or self._has_ended

    def _can_submit(self) -> bool:
        return self._is_closed or len(self) < self._most_open

    def _wait_for(
        self, condition: Callable[[], bool], timeout: float | None, describe: Callable[[], str]
    ) -> None:
        """Wait for a condition; raise if the service has failed or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        warn_at = time.monotonic() + _SLOW_S
        while not condition():
            if self._error is not None:
                raise self._error
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise BusyError(f"{describe()}; waited {timeout:g} s")
            if now >= warn_at:
                warn_at = float("inf")
                LOG.warning("still waiting: %s", describe())
            self._changed.wait(min(1.0, deadline - now) if deadline is not None else 1.0)
        if self._error is not None and not self._replies:
            raise self._error

    def _describe_full(self) -> str:
        waiting = len(self._replies)
        hint = "; take them with take() or results()" if waiting else ""
        return (
            f"the service has no room: {len(self._open)} tasks are in progress and {waiting} "
            f"replies were not taken{hint} (most_open={self._most_open})"
        )

    def _describe_empty(self) -> str:
        return f"no reply is ready yet; {len(self._open)} tasks are in progress"

    # For the driver, as an OutputSink

    def add(self, outputs: Sequence[AnyTask], size: int) -> None:
        for output in outputs:
            source_id = next(iter(output.lineage))[0]
            self._outputs.setdefault(source_id, []).append(output)

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._has_ended = True
            if error is None and self._open and not self._is_closed:
                error = StageError("the service ended before its tasks were done")
            self._error = error
            self._changed.notify_all()

    def _on_sources_done(self, event: dict[str, Any]) -> None:
        """Complete the replies to tasks of which everything is done."""
        records, self._run.result.quarantined = self._run.result.quarantined, []
        tickets = [ticket for ticket in event["sources"] if ticket in self._open]
        with self._changed:
            requests = [self._open.pop(ticket) for ticket in tickets]
            outputs = [o for ticket in tickets for o in self._outputs.pop(ticket, ())]
            self._replies.append(
                Reply(
                    tuple(tickets),
                    tuple(request.submitted for request in requests),
                    tuple(outputs),
                    tuple(records),
                    max(time.monotonic() - request.since for request in requests),
                )
            )
            self._changed.notify_all()


def check_servable(plan: Plan) -> None:
    """Refuse pipelines that write files, which only runs can publish, or that have no input."""
    writers = [planned.name for planned in plan.stages if planned.stage.writes]
    if writers:
        raise PipelineError(
            f"stage {writers[0]!r} writes files, which an open pipeline cannot publish; use run(), "
            "or leave the stage out and write what the replies give"
        )
    first = plan.stages[0]
    if first.input_type is Empty:
        raise PipelineError(
            f"stage {first.name!r} creates the first tasks, but an open pipeline gets its "
            "tasks from callers; leave the stage out"
        )
