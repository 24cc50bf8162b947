"""Casualties: workers of a run that died, read from what they left on their nodes.

Ray Data only knows that blocks failed. What a worker was at stands at its post.
"""

import json
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curator_core.local.shared_status import StageStatus
from curator_ray.cluster.survey import Survey
from curator_ray.worker.deaths import WorkerDeath, explain_death
from curator_ray.worker.node_tasks import run_on_nodes
from curator_ray.worker.status_files import (
    CrashReport,
    ProcessIdentity,
    StatusFiles,
    read_crash_report,
    request_stop,
)

from curator_ray_data.hosting import IN_ACTOR, lower_flag, raise_flag

_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Casualty:
    """A worker that is gone without having been asked to go."""

    worker_id: str
    death: WorkerDeath

    @property
    def reason(self) -> str:
        return self.death.message


def find_dead(folder: str) -> list[tuple[str, CrashReport]]:
    """Those that died on this machine since the last time, with their last words."""
    found = []
    for post, process in _posts(folder):
        if process.runs():
            continue
        words = read_crash_report(post)
        for file in (post.status, post.trace, post.process, post.output_mark):
            file.unlink(missing_ok=True)
        if words is not None and (words.status is not None or words.trace):
            found.append((post.worker_id, words))
    return found


def find_working(folder: str) -> list[int]:
    """The processes on this machine that are at work, or host stages that are not torn down."""
    return [one.pid for post, one in _posts(folder) if _holds_stages(post) and one.runs()]


def stop(folder: str, flag: str, *, at_once: bool) -> None:
    """Have the workers on this machine begin no more, or break off what they are at."""
    raise_flag(folder, flag)
    if at_once:
        for post, _ in _posts(folder):
            request_stop(post)


def kill_workers(folder: str) -> None:
    """End those on this machine that are still at work, or did not tear down in time."""
    for post, process in _posts(folder):
        if _holds_stages(post) and process.runs():  # else its number may be another's by now
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


class Camp:
    """The folder of a run on all machines that it has workers on."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.far_nodes: set[str] = set()
        """All that it was ever spread over, where some are other machines."""

    def spread(self, survey: Survey) -> None:
        """To be called at first, and when nodes have joined."""
        if survey.spans_machines:
            self.far_nodes.update(node.node_id for node in survey.facts.nodes)

    def casualties(self, errors: Iterable[BaseException]) -> list[Casualty]:
        """`errors` are what Ray said of blocks that were lost."""
        said = _said_of_memory(errors)
        found = [one for told in self._ask(find_dead, self.folder) for one in told]
        return [
            Casualty(worker_id, explain_death(words, said, node_is_alive=True))
            for worker_id, words in found
        ]

    def notes_here(self) -> list[StageStatus | None]:
        """What each worker on this machine is at; None for those that wait."""
        living = [post for post, process in _posts(self.folder) if process.runs()]
        words = [read_crash_report(post) for post in living]
        return [found.status if found else None for found in words]

    def stop(self, flag: str, *, at_once: bool = False) -> None:
        self._ask(_stop, self.folder, flag, at_once)

    def go_on(self, flag: str) -> None:
        """The flag is down again, for workers of another job."""
        self._ask(lower_flag, self.folder, flag)

    def kill(self) -> None:
        self._ask(kill_workers, self.folder)

    def wait_until_empty(self, patience_s: float) -> bool:
        """Until nobody is at work, and all actors have torn down; whether it came to that."""
        until = time.monotonic() + patience_s
        while any(self._ask(find_working, self.folder)):
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def _ask(self, errand: Any, *given: Any) -> list[Any]:
        if not self.far_nodes:
            return [errand(*given)]
        return run_on_nodes(self.far_nodes, errand, *given)


def _stop(folder: str, flag: str, at_once: bool) -> None:
    stop(folder, flag, at_once=at_once)


def _posts(folder: str) -> list[tuple[StatusFiles, ProcessIdentity]]:
    found = []
    for path in Path(folder).glob("*/*.json"):
        try:
            facts = json.loads(path.read_text())
            process = ProcessIdentity(int(facts["pid"]), str(facts["born"]))
        except (OSError, ValueError, KeyError):  # it is being written, or removed
            continue
        found.append((StatusFiles(folder, path.parent.name, path.stem), process))
    return found


def _holds_stages(post: StatusFiles) -> bool:
    """Actors keep what they have set up; tasks have something only while they work."""
    if post.worker_id.startswith(IN_ACTOR):
        return True
    words = read_crash_report(post)
    return words is not None and words.status is not None


def _said_of_memory(errors: Iterable[BaseException]) -> Exception:
    """Ray's memory monitor kills without a trace at the worker's post."""
    for error in errors:
        if type(error).__name__ == "OutOfMemoryError" and isinstance(error, Exception):
            return error
    return ChildProcessError("gone")
