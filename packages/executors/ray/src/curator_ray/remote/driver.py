"""Drive a run on the cluster, for a user who is connected through Ray's client (ray://).

The client carries no streams of results, and Ray Data does not work through it. So a process on the
cluster drives the run, as any process there could, while the run itself stays with its user.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from curator_core import AnyTask, Plan, PlannedStage, RunResult
from curator_core.errors import reason_of
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import Lineage, source_of
from curator_core.model.reports import CallReport
from curator_core.plan.events import Event, Events
from curator_core.plan.stop_request import StopRequest

from curator_ray.errors import ClusterError
from curator_ray.remote.messages import DriverJob, DriverMessage, RunMessage, dumps, loads
from curator_ray.transfer.modules import extend_search_path

if TYPE_CHECKING:
    from curator_core.model.snapshot import ExecutorState


LONG_POLL_S = 0.25
_LOST_AFTER_S = 20.0
"""A run that sends nothing for this long has lost its user, or the connection."""

_IGNORED_LOGGERS = ("ray", "asyncio", "grpc")

_BUFFER_BYTES = 32 << 20
_FIRST_OUTPUT_BYTES = 1 << 20
"""Assumed size of an output before any was pickled. Tasks know only an estimate of their size."""

_SOURCES_AHEAD = 2000
_SHOW_EVERY_S = 0.25


class RemoteDriver:
    """An actor that drives one run. The run calls `exchange` until the message `end` comes."""

    def __init__(self, job: bytes, search_path: list[str], level: int) -> None:
        extend_search_path(search_path)
        self._job = job
        self._run = RunProxy()
        self._received_at = time.monotonic()
        self._is_lost = False
        _LogForwarder(self._run).install(level)
        for work in (self._work, self._watch):
            threading.Thread(target=work, name="curator-remote-driver", daemon=True).start()

    def exchange(self, message: bytes) -> tuple[int, bytes]:
        """Take a message; return how many sources are wanted, and the messages for the run."""
        wanted = self.receive(message)
        messages = self._run.take_messages(LONG_POLL_S)
        pickled = dumps(messages)
        self._run.record_size(messages, len(pickled))
        return wanted, pickled

    def receive(self, message: bytes) -> int:
        """Take a message from a run that cannot take any; return how many sources are wanted."""
        self._received_at = time.monotonic()
        return self._run.receive(loads(message))

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            self._drive()
        except RunAbortedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised where the user sees it
            failure = error
        if self._is_lost:
            failure = ClusterError(
                f"the driver on the cluster got no message from the run for {_LOST_AFTER_S:g} s, "
                "and ended; finished work is kept: run the same command to resume"
            )
        self._run.send("end", _picklable(failure), self._run.result.notes)

    def _drive(self) -> None:
        try:
            job: DriverJob = loads(self._job)
        except ImportError as error:
            raise missing_package_error(error) from error
        self._run.start(job)
        for output in job.drive(job.plan, self._run):
            self._run.send_output(output)

    def _watch(self) -> None:
        """Abort if the user is lost. Ray would end this process before workers are torn down."""
        while time.monotonic() - self._received_at < _LOST_AFTER_S:
            time.sleep(1)
        self._is_lost = True
        self._run.receive(RunMessage(abort=True))


def missing_package_error(error: ImportError) -> ClusterError:
    return ClusterError(
        f"the head of the cluster cannot import what it has to run ({reason_of(error)}); install "
        "the same packages on every node"
    )


class RunAbortedError(Exception):
    """The run has ended, and answers no more."""


class RemoteStopRequest(StopRequest):
    """A stop request that can also leave no time at all."""

    is_abort = False

    @property
    def is_overdue(self) -> bool:
        return self.is_abort or super().is_overdue


class RunProxy:
    """Stands for a run whose accounts are kept by its user's process.

    Calls become messages, in order. Outputs are passed on as they are, and the run itself decides
    which of them count.
    """

    plan: Plan
    token: str
    worker_stages: tuple[PlannedStage, ...]

    def __init__(self) -> None:
        self.stopping = RemoteStopRequest()
        self.result = RunResult()
        self.events = Events()
        self.events.listen(self._forward_event)
        self.executor_state: Callable[[], ExecutorState] | None = None
        self._next_show = 0.0
        self._changed = threading.Condition()
        self._messages: deque[DriverMessage] = deque()
        self._credited: set[int] = set()
        self._buffered = 0.0
        self._output_bytes = float(_FIRST_OUTPUT_BYTES)
        self._sources: deque[tuple[AnyTask, float]] = deque()
        self._source_bytes = 0.0
        self._earlier: dict[str, Blame] = {}
        self._has_all = False
        self._answers: deque[Any] = deque()
        self._has_restarted = False

    # The interface of runs, which executors call

    def sources(self) -> Iterator[AnyTask]:
        while (task := self._next_source()) is not None:
            yield task

    def earlier_blame(self, task: AnyTask) -> Blame | None:
        return self._earlier.get(source_of(task.lineage))

    def emit(self, output: AnyTask) -> list[AnyTask]:
        return [output]

    def add_output(self, output: AnyTask) -> list[AnyTask]:
        self._credited.add(id(output))
        return [output]

    def credit(self, lineages: Iterable[Lineage]) -> None:
        self.send("credit", list(lineages))

    def apply_report(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]:
        self.send("apply_report", report, tuple(key for task in sources for key in task.lineage))
        return []

    def restart_source(self, source_id: str, reason: str) -> list[AnyTask]:
        self._has_restarted = True
        tasks: list[AnyTask] = self._ask("restart_source", source_id, reason)
        return tasks

    def take_mixed_sources(self) -> set[str]:
        """Ask the run, unless no source was restarted: then nothing can be void."""
        mixed: set[str] = self._ask("take_mixed_sources") if self._has_restarted else set()
        return mixed

    def fail_source(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]:
        self.send("fail_source", source_id, reason, stage.index, stage.policy)
        return []

    def record_worker_loss(
        self, worker_id: str, reason: str, stage_index: int | None = None
    ) -> None:
        self.send("record_worker_loss", worker_id, reason, stage_index)

    def add_worker_output(self, worker_id: str, text: str) -> None:
        if text:
            self.send("worker_output", worker_id, text)

    def tick(self) -> None:
        if self.executor_state is not None and time.monotonic() > self._next_show:
            self._next_show = time.monotonic() + _SHOW_EVERY_S
            self.send("executor_state", self.executor_state())

    # The interface for the driver

    def start(self, job: DriverJob) -> None:
        self.plan, self.token = job.plan, job.run_token
        self.worker_stages = job.plan.steps_between(job.first_stage)

    def send(self, kind: str, *args: Any) -> None:
        with self._changed:
            self._messages.append(DriverMessage(kind, args))
            self._changed.notify_all()

    def send_output(self, output: AnyTask) -> None:
        """Pass on an output of the executor; wait while too many are buffered."""
        kind = "add_output" if id(output) in self._credited else "emit"
        self._credited.discard(id(output))
        with self._changed:
            self._changed.wait_for(lambda: self._buffered < _BUFFER_BYTES or self.stopping.is_abort)
            self._buffered += max(output.num_bytes, self._output_bytes)
            if self._messages and self._messages[-1].kind == kind:
                self._messages[-1].args[0].append(output)
            else:
                self._messages.append(DriverMessage(kind, ([output],)))
            self._changed.notify_all()

    def take_messages(self, timeout_s: float) -> list[DriverMessage]:
        """Return all messages; wait for one if there is none, unless sources are needed."""
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._needs_sources, timeout_s)
            messages, self._messages = list(self._messages), deque()
            self._buffered = 0
            self._changed.notify_all()
        return messages

    def record_size(self, messages: Sequence[DriverMessage], nbytes: int) -> None:
        """Learn the size of outputs from pickled messages."""
        outputs = sum(len(m.args[0]) for m in messages if m.kind in ("add_output", "emit"))
        if outputs:
            self._output_bytes = nbytes / outputs

    def receive(self, message: RunMessage) -> int:
        """Take a message from the run; return how many sources it may send."""
        with self._changed:
            if message.stop is not None:
                self.stopping.request(*message.stop)
            if message.abort:
                self.stopping.request("the run")
                self.stopping.is_abort = True
            self._add_sources(message.sources)
            self._has_all = self._has_all or message.has_all
            self._answers.extend(message.answers)
            self._changed.notify_all()
            return self._wanted

    # Internals

    @property
    def _wanted(self) -> int:
        is_full = self._has_all or self._source_bytes > _BUFFER_BYTES
        return 0 if is_full else max(0, _SOURCES_AHEAD - len(self._sources))

    @property
    def _needs_sources(self) -> bool:
        return self._wanted > _SOURCES_AHEAD / 2

    def _add_sources(self, pickled: bytes) -> None:
        sources: list[tuple[AnyTask, Blame | None]] = loads(pickled) if pickled else []
        for task, blame in sources:
            self._sources.append((task, len(pickled) / len(sources)))
            if blame is not None:
                self._earlier[source_of(task.lineage)] = blame
        self._source_bytes += len(pickled)

    def _next_source(self) -> AnyTask | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._sources or self._has_all or self.stopping.is_requested
            )
            if not self._sources or self.stopping.is_requested:
                return None
            task, nbytes = self._sources.popleft()
            self._source_bytes -= nbytes
            self._changed.notify_all()
            return task

    def _ask(self, kind: str, *args: Any) -> Any:
        self.send(kind, *args)
        with self._changed:
            self._changed.wait_for(lambda: self._answers or self.stopping.is_abort)
            if not self._answers:
                raise RunAbortedError
            return self._answers.popleft()

    def _forward_event(self, event: Event) -> None:
        if event["event"] == "connected":
            return  # the run has emitted its own
        facts = {name: fact for name, fact in event.items() if name not in ("time", "event")}
        self.send("event", event["event"], facts)


class _LogForwarder(logging.Handler):
    """Passes log records on to the loggers of the user's process."""

    def __init__(self, run: RunProxy) -> None:
        super().__init__()
        self._run = run

    def install(self, level: int) -> None:
        logging.getLogger("curator_core").setLevel(level)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_IGNORED_LOGGERS):
            self._run.send("log", record.name, record.levelno, record.getMessage())


def _picklable(error: BaseException | None) -> BaseException | None:
    """Return the error, or its text if it cannot be pickled."""
    try:
        loads(dumps(error))
    except Exception:  # noqa: BLE001 - an error may fail in any way
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
