"""The folder of a run on each node, where its workers keep their status.

Ray Data only reports which blocks failed. The folder says what a worker was doing, and why it died.
"""

import json
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from curator_core.local.shared_status import StageStatus
from curator_core.model.snapshot import ExecutorState
from curator_ray.cluster.object_store import StoreMonitor
from curator_ray.cluster.survey import Survey
from curator_ray.temp_folders import RUN_FOLDER_PREFIX, FolderLock, remove_abandoned_folders
from curator_ray.worker.deaths import WorkerDeath, explain_death
from curator_ray.worker.node_tasks import remove_folder_on_nodes, run_on_nodes
from curator_ray.worker.status_files import (
    CrashReport,
    ProcessIdentity,
    StatusFiles,
    read_crash_report,
    request_stop,
)

from curator_ray_data.worker import ACTOR, lower_flag, raise_flag

_POLL_S = 0.02


@dataclass(frozen=True)
class DeadWorker:
    """A worker that died without having been asked to end."""

    worker_id: str
    death: WorkerDeath


class RunFolder:
    """The folder of a run, on this machine and on the other nodes that have workers."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.remote_nodes: set[str] = set()
        """Nodes whose folders are reached by a task; empty if all nodes are on this machine."""

        self._store = StoreMonitor()

    def add_nodes(self, survey: Survey) -> None:
        if survey.spans_machines:
            self.remote_nodes.update(node.node_id for node in survey.facts.nodes)

    def take_dead(self, errors: Iterable[BaseException]) -> list[DeadWorker]:
        """Return the workers that died since the last call. `errors` are those of lost blocks."""
        # Ray's memory monitor kills workers without leaving a trace in the folder.
        kills = (e for e in errors if type(e).__name__ == "OutOfMemoryError")
        cause = next(
            (e for e in kills if isinstance(e, Exception)),
            ChildProcessError("the worker process has ended"),
        )
        found = [dead for answer in self._on_each_node(find_dead) for dead in answer]
        return [
            DeadWorker(worker_id, explain_death(report, cause, node_is_alive=True))
            for worker_id, report in found
        ]

    def workers(self) -> list[tuple[StatusFiles, StageStatus | None]]:
        """Return the workers on all nodes, with what they are doing; None for those that wait."""
        return [worker for answer in self._on_each_node(find_workers) for worker in answer]

    def executor_state(self) -> ExecutorState:
        """Count the workers on this machine; other nodes would take too long to ask."""
        statuses = [status for _, status in find_workers(self.path)]
        busy = [status.stage_index for status in statuses if status is not None]
        store = self._store.read()
        return ExecutorState(
            {"busy": len(busy), "idle": len(statuses) - len(busy)},
            None,  # Ray Data keeps what waits between stages
            Counter(busy),
            store.used,
            store.spilled,
            store.limit,
        )

    def stop(self, flag: str, *, at_once: bool = False) -> None:
        """Raise a flag; with `at_once` also interrupt the calls in progress."""
        self._on_each_node(stop_workers, flag, at_once)

    def resume(self, flag: str) -> None:
        self._on_each_node(lower_flag, flag)

    def kill_workers(self) -> None:
        self._on_each_node(kill_workers)

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until no worker has work or stages to tear down; return whether that happened."""
        deadline = time.monotonic() + timeout_s
        while any(self._on_each_node(find_working)):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _on_each_node(self, function: Any, *arguments: Any) -> list[Any]:
        if not self.remote_nodes:
            return [function(self.path, *arguments)]
        return run_on_nodes(self.remote_nodes, function, self.path, *arguments)


@contextmanager
def run_folder(parent: str | None, survey: Survey) -> Iterator[RunFolder]:
    """Create the folder of a run, and remove it from all nodes at the end."""
    parent = parent or tempfile.gettempdir()
    remove_abandoned_folders(parent)
    folder = RunFolder(str(Path(parent, f"{RUN_FOLDER_PREFIX}{token_hex(8)}")))
    lock = FolderLock(folder.path)
    folder.add_nodes(survey)
    try:
        yield folder
    finally:
        remove_folder_on_nodes(folder.path, folder.remote_nodes)
        lock.release()


# What runs on each node: functions that workers can import


def find_dead(folder: str) -> list[tuple[str, CrashReport]]:
    found = []
    for files, process in _workers(folder):
        if process.runs():
            continue
        report = read_crash_report(files)
        files.remove()
        if report is not None and (report.status is not None or report.trace):
            found.append((files.worker_id, report))
    return found


def find_workers(folder: str) -> list[tuple[StatusFiles, StageStatus | None]]:
    living = [files for files, process in _workers(folder) if process.runs()]
    return [(files, _status(files)) for files in living]


def find_working(folder: str) -> list[int]:
    """Return the processes that run a stage, or have stages that are not torn down."""
    return [one.pid for files, one in _workers(folder) if _has_stages(files) and one.runs()]


def stop_workers(folder: str, flag: str, at_once: bool) -> None:
    raise_flag(folder, flag)
    if at_once:
        for files, _ in _workers(folder):
            request_stop(files)


def kill_workers(folder: str) -> None:
    """Kill the processes that still run a stage, or did not tear down in time."""
    for files, process in _workers(folder):
        if _has_stages(files) and process.runs():  # otherwise another process may have its pid
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


def _workers(folder: str) -> list[tuple[StatusFiles, ProcessIdentity]]:
    found = []
    for path in Path(folder).glob("*/*.json"):
        try:
            facts = json.loads(path.read_text())
            process = ProcessIdentity(int(facts["pid"]), str(facts["born"]))
        except (OSError, ValueError, KeyError):  # it is being written or removed
            continue
        found.append((StatusFiles(folder, path.parent.name, path.stem), process))
    return found


def _has_stages(files: StatusFiles) -> bool:
    """Actors keep what they have set up; tasks have something only while they work."""
    return files.worker_id.startswith(ACTOR) or _status(files) is not None


def _status(files: StatusFiles) -> StageStatus | None:
    report = read_crash_report(files)
    return report.status if report else None
