"""Locks: only one process at a time may use the folder of a run or workflow."""

import errno
import fcntl
import json
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Protocol

from curator_core.errors import ResumeError, reason_of
from curator_core.io.filesystems import StorageOptions, is_local, join, open_filesystem
from curator_core.logs import log
from curator_core.run.permissions import make_run_folder, open_run_file, refuse_deleted

LOG = log()

HEARTBEAT_S = 30.0
STALE_AFTER_S = 4 * HEARTBEAT_S
RETRY_S = 0.2
"""How long to retry: a process that only checks for an active run holds its lock briefly."""


@dataclass(frozen=True)
class LockedFolder:
    """A locked folder, and what error messages call it."""

    path: str
    kind: str = "run directory"
    option: str = "run_dir"
    """The option that sets another folder."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    def in_use(self, owner: str) -> ResumeError:
        try:
            facts = json.loads(owner)
            since = time.strftime("%H:%M:%S", time.localtime(facts["since"]))
            who = f"process {facts['pid']} on {facts['host']}, since {since}"
        except (ValueError, KeyError, TypeError):
            who = "another process"
        return ResumeError(
            f"{self} is in use by {who}; "
            f"wait for that run to end, or give this one another {self.option}"
        )

    def cannot(self, verb: str, error: OSError) -> ResumeError:
        remedy = "allow writing there"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "free some space, then run the same command again"
        return ResumeError(
            f"cannot {verb} {self}: {error.strerror or error}; "
            f"{remedy}, or choose another place with {self.option}"
        )


class Lock(Protocol):
    """A lock that is held during a run."""

    def check(self) -> None:
        """Raise if another process has taken the lock, or if it was deleted."""

    def release(self) -> None: ...


def lock_run_directory(
    folder: str, storage_options: StorageOptions | None = None, home: LockedFolder | None = None
) -> Lock:
    """Lock an existing folder. Messages call it `home`, by default a run directory."""
    home = home or LockedFolder(folder)
    fs, path = open_filesystem(folder, storage_options)
    if is_local(fs):
        return FileLock(os.path.join(path, "lock"), home)
    return ObjectLock(join(folder, "lock"), storage_options, home)


def lock_folder(
    home: LockedFolder, storage_options: StorageOptions | None = None, *, shared: bool = False
) -> Lock:
    """Create a folder and lock its `.curator` folder."""
    kept = join(home.path, ".curator")
    fs, path = open_filesystem(kept, storage_options)
    try:
        if is_local(fs):
            make_run_folder(path, shared=shared)
        else:
            fs.makedirs(path, exist_ok=True)
    except OSError as error:
        raise home.cannot("make", error) from error
    return lock_run_directory(kept, storage_options, home)


def _owner() -> str:
    facts = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
    return json.dumps(facts)


class FileLock:
    """A file lock, which the system releases when its holder dies."""

    def __init__(self, path: str, home: LockedFolder) -> None:
        self._path, self._home = path, home
        try:
            self._file = open_run_file(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise home.cannot("lock", error) from error
        try:
            self._take()
        except BlockingIOError:
            owner = os.read(self._file, 4096).decode(errors="replace")
            os.close(self._file)
            raise home.in_use(owner) from None
        except OSError as error:
            os.close(self._file)
            raise home.cannot("lock", error) from error

    def _take(self) -> None:
        deadline = time.monotonic() + RETRY_S
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

    def check(self) -> None:
        refuse_deleted(self._path, self._file)

    def release(self) -> None:
        os.close(self._file)


class ObjectLock:
    """A lock object that its holder renews; it expires after two minutes without renewal.

    A thread renews it, independent of the run's work. Two processes may write it at the same time,
    so each checks that the lock is still its own.
    """

    def __init__(
        self, path: str, storage_options: StorageOptions | None, home: LockedFolder
    ) -> None:
        self._place = path, storage_options
        self._home = home
        self._mark = token_hex(8)
        fs, at = open_filesystem(path, storage_options)
        self._owner = {**json.loads(_owner()), "mark": self._mark}
        try:
            self._take(fs, at)
        except OSError as error:
            raise home.cannot("lock", error) from error
        self._lost: ResumeError | None = None
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="curator-lock", daemon=True)
        self._heart.start()

    def _take(self, fs: Any, at: str) -> None:
        owner = _read(fs, at)
        if _renewed_at(owner) and not _is_dead(owner):
            silent_s = _silence_by_store(fs, at, self._mark)
            if silent_s is None:
                silent_s = time.time() - _renewed_at(owner)
            if silent_s < STALE_AFTER_S:
                raise self._home.in_use(owner)
        self._renew(fs, at)
        self._check_mine(fs, at)

    def check(self) -> None:
        if self._lost is not None:
            raise self._lost

    def release(self) -> None:
        self._ended.set()
        self._heart.join()
        fs, at = open_filesystem(*self._place)
        try:
            if self._mark in _read(fs, at):
                fs.rm_file(at)
        except Exception as error:  # noqa: BLE001 - as in `_beat`; the work is done
            LOG.warning("the lock of %s could not be released: %s; it expires in %.0f s",
                        self._home, reason_of(error), STALE_AFTER_S)  # fmt: skip

    def _beat(self) -> None:
        fs, at = open_filesystem(*self._place)  # not every file system is thread-safe
        while not self._ended.wait(HEARTBEAT_S):
            try:
                self._check_mine(fs, at)
                self._renew(fs, at)
            except ResumeError as error:
                self._lost = error
                return
            except Exception as error:  # noqa: BLE001 - object stores raise their own errors
                LOG.warning("the lock of %s could not be renewed: %s; trying again",
                            self._home, reason_of(error))  # fmt: skip

    def _renew(self, fs: Any, at: str) -> None:
        facts = {**self._owner, "renewed": time.time()}
        fs.pipe_file(at, json.dumps(facts).encode())

    def _check_mine(self, fs: Any, at: str) -> None:
        owner = _read(fs, at)
        if self._mark not in owner:
            raise self._home.in_use(owner)


def _read(fs: Any, path: str) -> str:
    try:
        return str(fs.cat_file(path).decode(errors="replace"))
    except FileNotFoundError:
        return ""


def _silence_by_store(fs: Any, path: str, mark: str) -> float | None:
    """Return the seconds since a lock was renewed, or None if the store has no times.

    Both times come from the store's clock: the clocks of two machines may differ by minutes.
    """
    probe = f"{path}.{mark}"
    try:
        fs.pipe_file(probe, b"")
        fs.invalidate_cache()
        return float((fs.modified(probe) - fs.modified(path)).total_seconds())
    except PermissionError:
        raise
    except Exception:  # noqa: BLE001 - object stores raise their own errors
        return None
    finally:
        with suppress(Exception):
            fs.rm_file(probe)


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
