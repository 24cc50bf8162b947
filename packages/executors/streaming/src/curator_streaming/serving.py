"""Serving: a pipeline that stays up on a cluster and answers tasks as they arrive."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import TYPE_CHECKING, Any

from curator_core import AnyTask, BusyError, Empty, Plan, Reply, RunResult, Service
from curator_core.errors import PipelineError, StageError
from curator_core.model.ids import fingerprint
from curator_core.run.sources import Source

from curator_streaming.driving import Driver, Ground
from curator_streaming.requests import Request, Requests

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun

LOG = logging.getLogger("curator_core")

_PATIENCE_S = 0.003
"""For how long the driver may not look for new tasks while others are under way."""

_STRANGELY_LONG_S = 10.0


class StreamingService(Service):
    """Made by `StreamingExecutor.open`. Every method may be called from any thread."""

    def __init__(
        self,
        run: "ActiveRun",
        ground: Callable[..., Any],
        most_open: int,
        plan_takes: type[AnyTask],
    ) -> None:
        self._run = run
        self._takes = plan_takes
        self._most_open = most_open
        self._changed = threading.Condition()
        self._open: dict[str, Request] = {}
        self._outputs: dict[str, list[AnyTask]] = {}
        self._replies: deque[Reply] = deque()
        self._numbers = 0
        self._is_closed = self._has_ended = False
        self._error: BaseException | None = None
        self.given = self.taken = 0
        self.has_room = True
        self._closing = ExitStack()
        run.events.listen(self._look_at, "sources_done")
        with ExitStack() as opening:
            self._driver, self._requests = self._started(opening.enter_context(ground()))
            self._closing = opening.pop_all()
        self._driver.begin()

    def _started(self, ground: Ground) -> tuple[Driver, Requests]:
        bell = threading.Event()
        requests = Requests(self._run, ground.hosts.baggage, bell)
        driver = Driver(self._run, self._run.worker_stages, ground, self, bell)
        driver.serve(requests.goes_to, _PATIENCE_S)
        return driver, requests

    @property
    def result(self) -> RunResult:
        """The account so far, stage by stage once the service is closed."""
        return self._run.result

    # For callers

    def submit(self, task: AnyTask, timeout: float | None = None) -> str:
        if not isinstance(task, self._takes):
            raise PipelineError(
                f"the first stage takes {self._takes.__name__}, but was given a "
                f"{type(task).__name__}: {task!r:.100}"
            )
        with self._changed:
            self._wait_for(self._has_place, timeout, self._why_full)
            if self._is_closed:
                raise PipelineError("the service is closed and takes no more tasks; open another")
            self._numbers += 1
            ticket = fingerprint("submitted", self._run.token, str(self._numbers))
            own = copy(task)
            own.task_id = ticket
            request = Request(Source(ticket, own), task)
            self._open[ticket] = request
            self._requests.add(request)
        return ticket

    def take(self, timeout: float | None = None) -> Reply:
        reply = self._next_reply(timeout)
        if reply is None:
            raise PipelineError("the service is closed, and all of its replies have been taken")
        return reply

    def __len__(self) -> int:
        return len(self._open) + sum(len(reply.tickets) for reply in self._replies)

    def close(self) -> None:
        if not self._shut():
            return
        try:
            self._driver.finish(breaks_off=False)
        except BaseException:
            self._end(breaks_off=True)
            raise
        self._end(breaks_off=False)
        if self._error is not None and not self._replies:
            raise self._error

    def break_off(self) -> None:
        if self._shut():
            self._end(breaks_off=True)

    def _shut(self) -> bool:
        """Let nothing more in; False where that was done before."""
        with self._changed:
            was_open, self._is_closed = not self._is_closed, True
            self._requests.close()
            self._changed.notify_all()
        return was_open

    def _end(self, *, breaks_off: bool) -> None:
        try:
            if breaks_off:
                self._driver.finish(breaks_off=True)
        finally:
            self._closing.close()
            self._run.fail("failed" if self._error else "broken off" if breaks_off else "closed")

    def _next_reply(self, timeout: float | None = None) -> Reply | None:
        with self._changed:
            self._wait_for(self._is_answered, timeout, self._why_empty)
            if self._replies:
                reply = self._replies.popleft()
                self._changed.notify_all()
                return reply
        return None

    def _is_answered(self) -> bool:
        return bool(self._replies) or self._has_ended

    def _has_place(self) -> bool:
        return self._is_closed or len(self) < self._most_open

    def _wait_for(
        self, is_so: Callable[[], bool], timeout: float | None, why: Callable[[], str]
    ) -> None:
        """Until then, or an error: of the service, or for want of time."""
        until = None if timeout is None else time.monotonic() + timeout
        warn_at = time.monotonic() + _STRANGELY_LONG_S
        while not is_so():
            if self._error is not None:
                raise self._error
            now = time.monotonic()
            if until is not None and now >= until:
                raise BusyError(f"{why()}; waited {timeout:g} s")
            if now >= warn_at:
                warn_at = float("inf")
                LOG.warning("still waiting: %s", why())
            self._changed.wait(min(1.0, until - now) if until is not None else 1.0)
        if self._error is not None and not self._replies:
            raise self._error

    def _why_full(self) -> str:
        waiting = len(self._replies)
        hint = "; take them with results()" if waiting else ""
        return (
            f"the service has no room: {len(self._open)} tasks are on their way and {waiting} "
            f"replies are not taken{hint} (most_open={self._most_open})"
        )

    def _why_empty(self) -> str:
        return f"no reply has come: {len(self._open)} tasks are on their way"

    # For the driver: a sink of outputs

    def put(self, outputs: Sequence[AnyTask], size: int) -> None:
        for output in outputs:
            source_id = next(iter(output.lineage))[0]
            self._outputs.setdefault(source_id, []).append(output)

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._has_ended = True
            if error is None and self._open and not self._is_closed:
                error = StageError("the service ended before its tasks did")
            self._error = error
            self._changed.notify_all()

    def _look_at(self, event: dict[str, Any]) -> None:
        """What the run says: when all of a task is done, its reply is complete."""
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
    """Refuse what has nobody to answer: files are written by runs, which can be resumed."""
    writers = [planned.name for planned in plan.stages if planned.stage.writes]
    if writers:
        raise PipelineError(
            f"stage {writers[0]!r} writes files, which an open pipeline cannot publish; use run(), "
            "or leave the stage out and write what the replies give"
        )
    first = plan.stages[0]
    if first.input_type is Empty:
        raise PipelineError(
            f"stage {first.name!r} makes tasks of nothing, but an open pipeline is given its "
            "tasks; leave the stage out"
        )
