"""One run at a time in a run directory."""

import fcntl
import json
import os
import socket
import time
from typing import Any, Protocol

from curator_core.errors import ResumeError
from curator_core.filesystems import is_local, open_filesystem

HEARTBEAT_S = 30.0
STALE_AFTER_S = 4 * HEARTBEAT_S


class Lock(Protocol):
    """Held while a run is under way."""

    def refresh(self) -> None: ...

    def release(self) -> None: ...


def take_lock(run_dir: str, storage_options: dict[str, Any] | None = None) -> Lock:
    fs, path = open_filesystem(run_dir, storage_options)
    if is_local(fs):
        return FileLock(os.path.join(path, "lock"), run_dir)
    return ObjectLock(fs, f"{path}/lock", run_dir)


def _owner() -> str:
    facts = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
    return json.dumps(facts)


def _in_use(run_dir: str, owner: str) -> ResumeError:
    try:
        facts = json.loads(owner)
        since = time.strftime("%H:%M:%S", time.localtime(facts["since"]))
        who = f"process {facts['pid']} on {facts['host']}, since {since}"
    except (ValueError, KeyError, TypeError):
        who = "another process"
    return ResumeError(
        f"run directory {run_dir} is in use by {who}; "
        "wait for that run to end, or give this one another run_dir"
    )


class FileLock:
    """A lock that the system gives back when its holder dies, however it dies."""

    def __init__(self, path: str, run_dir: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._file, 4096).decode(errors="replace")
            os.close(self._file)
            raise _in_use(run_dir, owner) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _owner().encode(), 0)

    def refresh(self) -> None:
        pass

    def release(self) -> None:
        os.close(self._file)


class ObjectLock:
    """An object that its holder renews; after two minutes without that it counts for nothing."""

    def __init__(self, fs: Any, path: str, run_dir: str) -> None:
        self._fs = fs
        self._path = path
        self._renewed = 0.0
        if fs.exists(path):
            owner = fs.cat_file(path).decode(errors="replace")
            if time.time() - _renewed_at(owner) < STALE_AFTER_S:
                raise _in_use(run_dir, owner)
        self._owner = json.loads(_owner())
        self.refresh()

    def refresh(self) -> None:
        if time.time() - self._renewed < HEARTBEAT_S:
            return
        self._renewed = time.time()
        facts = {**self._owner, "renewed": self._renewed}
        self._fs.pipe_file(self._path, json.dumps(facts).encode())

    def release(self) -> None:
        self._fs.rm_file(self._path)


def _renewed_at(owner: str) -> float:
    try:
        return float(json.loads(owner)["renewed"])
    except (ValueError, KeyError, TypeError):
        return 0.0
