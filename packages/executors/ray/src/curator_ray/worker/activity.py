"""What running workers are doing: the CPU, GPU and I/O that they used, their stage and stack."""

import faulthandler
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from curator_core.local.shared_status import SharedStatus

from curator_ray.worker.status_files import ProcessIdentity, StatusFiles

_SIGNAL = signal.SIGUSR2
_STACK_TIMEOUT_S = 2.0
_STAGE_CODE = "curator_core/execution/"
_IDLE_CPU_SHARE = 0.02
"""Ray's own threads take up to a hundredth of a CPU in a worker that does nothing."""

_IDLE_IO_BYTES_PER_S = 10_000


@dataclass(frozen=True)
class WorkerActivity:
    """The state of one worker at one moment."""

    worker_id: str
    at: float
    """By the clock of its machine."""

    cpu_s: float
    """CPU time that the process and its children used so far, or waited for while it was taken."""

    io_bytes: int
    """Read and written so far by the process and its children."""

    gpu_busy: bool
    """Whether any GPU of its node is at work."""

    stage_index: int | None = None
    stack: str = ""

    def is_idle_since(self, earlier: "WorkerActivity", *, uses_gpu: bool) -> bool:
        """Whether it used neither CPU nor I/O since then, and no GPU at either moment."""
        seconds = self.at - earlier.at
        if uses_gpu and (self.gpu_busy or earlier.gpu_busy):
            return False
        return (
            self.cpu_s - earlier.cpu_s <= _IDLE_CPU_SHARE * seconds
            and abs(self.io_bytes - earlier.io_bytes) <= _IDLE_IO_BYTES_PER_S * seconds
        )


class StackDumper:
    """Lets other processes of the machine ask this one for its stack, even while it hangs."""

    def __init__(self, files: StatusFiles) -> None:
        self._file = open(files.stack, "w")  # noqa: SIM115 - open as long as the worker lives
        faulthandler.register(_SIGNAL, file=self._file, all_threads=True)

    def close(self) -> None:
        faulthandler.unregister(_SIGNAL)
        self._file.close()


def read_activities(
    workers: Sequence[StatusFiles], *, with_stacks: bool = False
) -> list[WorkerActivity]:
    """Read what these workers of this machine are doing; without those that have ended."""
    gpu_busy = _is_any_gpu_busy()
    children = _children_by_parent()
    found = (_read(files, gpu_busy, children, with_stacks) for files in workers)
    return [activity for activity in found if activity is not None]


def _read(
    files: StatusFiles, gpu_busy: bool, children: dict[int, list[int]], with_stack: bool
) -> WorkerActivity | None:
    try:
        facts = json.loads(files.process.read_text())
        handle = os.open(files.status, os.O_RDWR)
    except (OSError, ValueError):
        return None
    shared = SharedStatus(handle)
    try:
        status = shared.note()
    finally:
        shared.close()
    identity = ProcessIdentity(facts["pid"], facts["born"])
    if not identity.runs():
        return None
    pids = list(_tree(identity.pid, children))
    return WorkerActivity(
        files.worker_id,
        time.monotonic(),
        sum(map(_cpu_seconds, pids)) + sum(map(_cpu_wait_seconds, pids)),
        sum(map(_io_bytes, pids)),
        gpu_busy,
        status.stage_index if status else None,
        _dump_stack(files, identity.pid) if with_stack else "",
    )


def _dump_stack(files: StatusFiles, pid: int) -> str:
    """Have the process write its stack, and return the part of the thread that runs stages."""
    try:
        start = files.stack.stat().st_size
        os.kill(pid, _SIGNAL)
    except OSError:
        return ""
    deadline = time.monotonic() + _STACK_TIMEOUT_S
    text = ""
    while time.monotonic() < deadline:
        before, text = text, files.stack.read_bytes()[start:].decode(errors="replace")
        if text and text == before:
            break
        time.sleep(0.02)
    threads = [part.strip() for part in text.split("\n\n") if part.strip()]
    running = [part for part in threads if _STAGE_CODE in part]
    return (running or threads or [""])[-1]


def _children_by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        if stat := _stat_fields(int(entry.name)):
            found.setdefault(int(stat[1]), []).append(int(entry.name))
    return found


def _tree(pid: int, children: dict[int, list[int]]) -> Iterable[int]:
    yield pid
    for child in children.get(pid, ()):
        yield from _tree(child, children)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, including children that have ended."""
    stat = _stat_fields(pid)
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _cpu_wait_seconds(pid: int) -> float:
    """Return how long the main thread was ready to run but had no CPU."""
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _io_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar", "wchar")))


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the program's name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _is_any_gpu_busy() -> bool:
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return any(line.strip() not in ("", "0") for line in done.stdout.splitlines())
