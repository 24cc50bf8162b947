"""One run at a time in a run directory."""

import fcntl
import json
import os
import socket
import time
from secrets import token_hex
from typing import Any, Protocol

from curator_core.errors import ResumeError
from curator_core.filesystems import is_local, open_filesystem

HEARTBEAT_S = 30.0
STALE_AFTER_S = 4 * HEARTBEAT_S
LOOK_S = 0.2
"""Somebody who only looks whether a run is under way holds its lock for a moment."""


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


def _cannot(run_dir: str, error: OSError) -> ResumeError:
    return ResumeError(
        f"cannot lock run directory {run_dir}: {error.strerror or error}; "
        "allow writing there, or choose another place with run_dir"
    )


class FileLock:
    """A lock that the system gives back when its holder dies, however it dies."""

    def __init__(self, path: str, run_dir: str) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _cannot(run_dir, error) from error
        try:
            self._take()
        except BlockingIOError:
            owner = os.read(self._file, 4096).decode(errors="replace")
            os.close(self._file)
            raise _in_use(run_dir, owner) from None
        except OSError as error:
            os.close(self._file)
            raise _cannot(run_dir, error) from error

    def _take(self) -> None:
        deadline = time.monotonic() + LOOK_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                break
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _owner().encode(), 0)

    def refresh(self) -> None:
        pass

    def release(self) -> None:
        os.close(self._file)


class ObjectLock:
    """An object that its holder renews; after two minutes without that it counts for nothing.

    Nothing keeps two from writing it at the same time, so each looks whether it is still its own.
    """

    def __init__(self, fs: Any, path: str, run_dir: str) -> None:
        self._fs = fs
        self._path = path
        self._run_dir = run_dir
        self._renewed = 0.0
        self._mark = token_hex(8)
        owner = self._read()
        if owner and _is_held(owner):
            raise _in_use(run_dir, owner)
        self._owner = {**json.loads(_owner()), "mark": self._mark}
        self._renew()
        self._check_mine()

    def refresh(self) -> None:
        if time.time() - self._renewed >= HEARTBEAT_S:
            self._check_mine()
            self._renew()

    def release(self) -> None:
        if self._mark in self._read():
            self._fs.rm_file(self._path)

    def _renew(self) -> None:
        self._renewed = time.time()
        facts = {**self._owner, "renewed": self._renewed}
        self._fs.pipe_file(self._path, json.dumps(facts).encode())

    def _check_mine(self) -> None:
        owner = self._read()
        if self._mark not in owner:
            raise _in_use(self._run_dir, owner)

    def _read(self) -> str:
        try:
            return str(self._fs.cat_file(self._path).decode(errors="replace"))
        except FileNotFoundError:
            return ""


def _is_held(owner: str) -> bool:
    """Renewed lately, and not by a process of this machine that is no more."""
    return time.time() - _renewed_at(owner) < STALE_AFTER_S and not _is_dead(owner)


def _is_dead(owner: str) -> bool:
    facts = json.loads(owner)
    if facts.get("host") != socket.gethostname():
        return False
    try:
        os.kill(int(facts["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _renewed_at(owner: str) -> float:
    try:
        return float(json.loads(owner)["renewed"])
    except (ValueError, KeyError, TypeError):
        return 0.0
