"""Observers: what plugins and users call to watch runs, without slowing them down.

Each observer of a run has a thread of its own. The driver only leaves messages for it, so an
observer that fails or hangs costs the run one warning and, at its end, a bounded wait.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.errors import reason_of
from curator_core.io.filesystems import StorageOptions
from curator_core.logs import log
from curator_core.model.snapshot import RunSnapshot
from curator_core.plan.events import Event
from curator_core.plugins.registry import plugins
from curator_core.run.result import RunResult, WorkflowResult

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun

LOG = log()

VARIABLE = "CURATOR_PROGRESS"
"""Set to 0, this environment variable acts like `progress=False` for all runs."""

MOST_WAITING = 10_000
"""Events that wait for a slow observer; further ones are not sent to it."""


@dataclass(frozen=True, eq=False)
class RunInfo:
    """A run that is observed. It can be a dictionary key: each run has one object."""

    name: str
    executor: str
    run_dir: str | None
    storage_options: StorageOptions | None = None


@dataclass(frozen=True, eq=False)
class WorkflowInfo:
    """A workflow that has ended, and the error that ended it, if any."""

    name: str
    work_dir: str
    storage_options: StorageOptions
    write_report: Callable[[], str | None]
    """Writes the workflow's own report page and returns its path; None if it has none."""

    error: BaseException | None = None


class Observer:
    """Watches runs, to show or to publish what they do. Override what you need.

    Methods are called one at a time in a thread of the observer. An exception costs one warning,
    and the observer is not called again in this run.

        class PrintEnd(Observer):
            def run_ended(self, run, result):
                print(run.name, result.status, len(result.files), "files")

        pipeline.run(observers=[PrintEnd()])

    An installed package offers its observers with the hook `curator_observers`; for each run, the
    class is called without arguments.
    """

    wait_s: float = 30.0
    """How long the end of a run waits for the observer to finish. After that, it is left alone."""

    @property
    def claims_terminal(self) -> bool:
        """Whether the observer shows progress on the terminal, in place of core's log lines."""
        return False

    def prepare(self) -> None:
        """Get ready, before a run touches anything. Unlike all others, the run waits for this.

        A CuratorError of an observer that was passed to `run(observers=...)` ends the run here.
        """

    def run_started(self, run: RunInfo) -> None:
        """A run has started."""

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        """The state of the run has changed; called a few times per second at most.

        A slow observer misses snapshots, but never the last one.
        """

    def event(self, run: RunInfo, event: Event) -> None:
        """Something happened that `events.jsonl` records, except snapshots.

        Events are only collected for observers that override this method.
        """

    def run_ended(self, run: RunInfo, result: RunResult) -> None:
        """The run has ended, and its files are in place. Called for failed runs, too."""

    def workflow_ended(self, workflow: WorkflowInfo, result: WorkflowResult) -> None:
        """A workflow has ended; its runs were observed before."""

    def close(self) -> None:
        """Release what `prepare` took. Called once for each run that was prepared, as the last."""


class _Thread:
    """Calls one observer from its own thread, in the order of the messages."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._messages: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._has_dropped = False
        self._thread: threading.Thread | None = None

    def send(self, method: str, *arguments: Any) -> None:
        """Call the method soon. A snapshot replaces one that is still waiting."""
        with self._changed:
            if self._is_closed:
                return
            if method == "progress" and self._messages and self._messages[-1][0] == "progress":
                self._messages.pop()
            if method == "event" and len(self._messages) >= MOST_WAITING:
                self._warn_of_drops()
                return
            self._messages.append((method, arguments))
            self._changed.notify()
        if self._thread is None:
            name = f"curator-{_name_of(self.observer)}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wait until all messages are handled, for a limited time."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is None:
            return
        self._thread.join(self.observer.wait_s)
        if self._thread.is_alive():
            LOG.warning(
                "the observer %s is still busy %g s after the end of the run, which continues "
                "without it",
                _name_of(self.observer),
                self.observer.wait_s,
            )

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._messages or self._is_closed)
                if not self._messages:
                    return
                method, arguments = self._messages.popleft()
            try:
                getattr(self.observer, method)(*arguments)
            except Exception as error:  # noqa: BLE001 - observers are third-party code
                _warn(_name_of(self.observer), error)
                with self._changed:
                    self._is_closed = True
                    self._messages.clear()
                    if method != "close":
                        self._messages.append(("close", ()))

    def _warn_of_drops(self) -> None:
        if not self._has_dropped:
            self._has_dropped = True
            LOG.warning("the observer %s is slow and misses events", _name_of(self.observer))


class Observation:
    """The observers of one run, of its retry, or of a workflow."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._threads = [_Thread(observer) for observer in observers]
        self._run: RunInfo | None = None
        self._result = RunResult()
        self._is_started = False

    def watch(self, run: "ActiveRun", executor: str, options: StorageOptions | None = None) -> None:
        """Send what happens in `run` to the observers, if there are any."""
        if not self._threads:
            return
        if self._run is None:  # a retry has several parts
            self._run = RunInfo(run.plan.name, executor, run.result.run_dir, options)
        self._result = run.result
        run.events.listen(self._send_progress, "snapshot")
        if any(_overrides(thread.observer, "event") for thread in self._threads):
            run.events.listen(self._send_event)

    def _send_progress(self, event: Event) -> None:
        if not self._is_started:
            self._is_started = True
            self._send("run_started", self._run)
        self._send("progress", self._run, event["snapshot"])

    def _send_event(self, event: Event) -> None:
        if event["event"] == "snapshot":
            return
        for thread in self._threads:
            if _overrides(thread.observer, "event"):
                thread.send("event", self._run, event)

    def end(self, result: RunResult | None = None) -> None:
        """Send the result if the run had started, and wait for the observers."""
        if self._is_started:
            self._send("run_ended", self._run, result or self._result)
        self._send("close")
        self._wait()

    def end_workflow(self, workflow: WorkflowInfo, result: WorkflowResult) -> None:
        """Send the result of a workflow, and wait for the observers."""
        self._send("workflow_ended", workflow, result)
        self._wait()

    def _wait(self) -> None:
        for thread in self._threads:
            thread.close()

    def _send(self, method: str, *arguments: Any) -> None:
        for thread in self._threads:
            thread.send(method, *arguments)


def observe(given: Iterable[Observer], log_lines: Observer, *, progress: bool) -> Observation:
    """Prepare the observers of a run: those given, those installed, and core's log lines.

    `progress=False` leaves out the log lines and installed observers that claim the terminal.
    """
    progress = progress and os.environ.get(VARIABLE) != "0"
    chosen = list(given)
    is_claimed = any(observer.claims_terminal for observer in chosen)
    for observer in chosen:
        observer.prepare()
    for observer in _installed():
        claims = observer.claims_terminal
        if (progress and not is_claimed) or not claims:
            is_claimed = is_claimed or claims
            with _warning_of(_name_of(observer)):
                observer.prepare()
                chosen.append(observer)
    if progress and not is_claimed:
        chosen.append(log_lines)
    return Observation(chosen)


def observe_workflow(given: Iterable[Observer]) -> Observation:
    """Return the observers that override `workflow_ended`."""
    return Observation(one for one in (*given, *_installed()) if _overrides(one, "workflow_ended"))


def _installed() -> Iterator[Observer]:
    """Yield a new object of each installed observer that loads; warn about the others."""
    catalog = plugins().observers
    for name in catalog:
        with _warning_of(name):
            yield catalog.load(name)()


@contextmanager
def _warning_of(name: str) -> Iterator[None]:
    """Turn an exception into a warning."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - observers are third-party code
        _warn(name, error)


def _overrides(observer: Observer, method: str) -> bool:
    return getattr(type(observer), method, None) is not getattr(Observer, method)


def _name_of(observer: Observer) -> str:
    return type(observer).__name__


def _warn(name: str, error: Exception) -> None:
    LOG.warning("the observer %s failed and is not called again: %s", name, reason_of(error))
