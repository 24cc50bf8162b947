"""Files in which a worker records what it is doing, readable after it has died.

They are on the worker's node, in a folder of the run. So a crash or a hang can be attributed to
the stage and the tasks that caused it.
"""

import faulthandler
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from curator_core import AnyTask
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.shared_status import SharedStatus, StageStatus

from curator_ray.temp_folders import remove_abandoned_folders
from curator_ray.worker.output import CapturedOutput, output_files

_STATUS_BYTES = 1 << 16
"""What a `SharedStatus` maps."""

_LOG_LINES = 20
_LOG_CHARACTERS = 20_000

EXIT_PREFIX = "left with "
"""The trace of a worker that called `os._exit` begins with it."""


@dataclass(frozen=True)
class StatusFiles:
    """The paths of one worker's files."""

    folder: str
    node_id: str
    worker_id: str

    @property
    def node_folder(self) -> Path:
        return Path(self.folder, self.node_id)

    @property
    def status(self) -> Path:
        """The current stage and tasks, in shared memory."""
        return self._path("status")

    @property
    def trace(self) -> Path:
        """The stack of a worker that crashed or exceeded a timeout."""
        return self._path("trace")

    @property
    def stack(self) -> Path:
        """The stacks of a running worker, whenever someone asks for them."""
        return self._path("stack")

    @property
    def output_mark(self) -> Path:
        """How much of its printed output the worker has reported."""
        return self._path("output")

    @property
    def process(self) -> Path:
        """Which process the worker is."""
        return self._path("json")

    def remove(self) -> None:
        for file in (self.status, self.trace, self.stack, self.process, self.output_mark):
            file.unlink(missing_ok=True)

    def _path(self, kind: str) -> Path:
        return self.node_folder / f"{self.worker_id}.{kind}"


def find_node_id(folder: str, worker_id: str) -> str:
    """Return the node of a worker that died before it reported one, if it was on this machine."""
    found = Path(folder).glob(f"*/{worker_id}.status")
    return next((file.parent.name for file in found), "")


class StatusWriter:
    """Records each entry into a stage, and ends this process if one exceeds its timeout.

    `faulthandler` measures the time on a thread that does not need the GIL, so a stage that hangs
    in C code is ended too.
    """

    def __init__(self, files: StatusFiles) -> None:
        self._files = files
        if not os.path.exists(files.folder):  # otherwise another process has cleaned up already
            remove_abandoned_folders(os.path.dirname(files.folder))
        Path(files.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        files.node_folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(files.status, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, _STATUS_BYTES)
        self._status = SharedStatus(handle)
        self._trace = open(files.trace, "w")  # noqa: SIM115 - open as long as the worker lives
        faulthandler.enable(self._trace)
        self._is_armed = False
        self._record_exits()
        self._output = CapturedOutput(files.output_mark)
        process = {
            **asdict(ProcessIdentity.own()),
            "output": self._output.paths,
            "memory_kills": MemoryKills().seen,
        }
        files.process.write_text(json.dumps(process))

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        self._status.begin(stage_index, tasks, timeout_s)
        if timeout_s is not None:
            faulthandler.dump_traceback_later(timeout_s, file=self._trace, exit=True)
            self._is_armed = True

    def end(self) -> None:
        if self._is_armed:
            faulthandler.cancel_dump_traceback_later()
            self._is_armed = False
        self._status.end()

    def take_output(self, *, is_last: bool = False) -> str:
        """Return what was printed since the previous call."""
        return self._output.take(is_last=is_last)

    def remove(self) -> None:
        """Remove the files of a worker that ends as planned."""
        faulthandler.disable()
        self._trace.close()
        self._status.close()
        self._output.close()
        self._files.remove()

    def _record_exits(self) -> None:
        """Distinguish a stage that calls `os._exit` from a process that was killed."""
        process, trace, really_exit = os.getpid(), self._trace, os._exit

        def recorded_exit(status: int) -> NoReturn:
            if os.getpid() == process and not trace.closed:  # not in a forked child
                trace.write(f"{EXIT_PREFIX}os._exit({status})\n")
                trace.flush()
            really_exit(status)

        os._exit = recorded_exit


@dataclass(frozen=True)
class CrashReport:
    """What the files of a dead worker say."""

    status: StageStatus | None
    trace: str
    log: str
    ran_out_of_memory: bool
    output: str = ""
    """What it printed and had not reported yet."""


def read_crash_report(files: StatusFiles) -> CrashReport | None:
    """Read the files of a worker on this machine; None if there are none."""
    try:
        handle = os.open(files.status, os.O_RDWR)
        process: dict[str, Any] = json.loads(files.process.read_text())
    except (OSError, ValueError):
        return None
    shared = SharedStatus(handle)
    try:
        status = shared.note()
    finally:
        shared.close()
    paths = process.get("output", [])
    return CrashReport(
        status,
        _read_text(files.trace),
        _last_lines(paths[-1] if paths else ""),
        MemoryKills(process["memory_kills"]).explain(process["pid"]),
        output_files(paths, files.output_mark).rest(),
    )


def request_stop(files: StatusFiles) -> bool:
    """Have a worker stop before it enters a stage again; False if it is not on this machine."""
    try:
        handle = os.open(files.status, os.O_RDWR)
    except OSError:
        return False
    shared = SharedStatus(handle)
    shared.request_stop()
    shared.close()
    return True


@dataclass(frozen=True)
class ProcessIdentity:
    """A process of this machine. The system reuses process ids, so the start time is part of it."""

    pid: int
    born: str
    """In the system's own ticks; empty where the system does not show it (outside Linux)."""

    @classmethod
    def own(cls) -> "ProcessIdentity":
        return cls(os.getpid(), _state_and_start(os.getpid())[1])

    def runs(self) -> bool:
        """Whether the process is alive; one that its parent has not reaped yet is not."""
        state, born = _state_and_start(self.pid)
        if state or os.path.isdir("/proc/self"):
            return bool(state) and state not in "ZX" and born == self.born
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # of another user
            return True
        return True


def _state_and_start(pid: int) -> tuple[str, str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()  # the program's name before it may hold anything
    return fields[0], fields[19]


def _last_lines(file: str) -> str:
    return "\n".join(_read_text(Path(file)).splitlines()[-_LOG_LINES:]) if file else ""


def _read_text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")[-_LOG_CHARACTERS:]
    except OSError:
        return ""
