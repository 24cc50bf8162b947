"""Temporary folders of drivers, and cleanup after drivers that were killed.

A driver locks a file in its folder, and the system releases the lock however the driver ends. On
nodes without a driver there is no lock: there, folders are removed when nothing has changed in
them for a week.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

RUN_FOLDER_PREFIX = "curator-run-"
_LOCK = "driver.lock"
_OLD_AFTER_S = 7 * 24 * 3600.0


class FolderLock:
    """Marks a folder as in use by this process."""

    def __init__(self, folder: str, *, exists: bool = False) -> None:
        if not exists:
            Path(folder).mkdir(mode=0o700)
        file = Path(folder, f"{_LOCK}.new")
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        file.rename(Path(folder, _LOCK))  # so the file never exists without its lock

    def release(self) -> None:
        """Release the lock, after the folder was removed."""
        os.close(self._handle)


def remove_abandoned_folders(
    parent: str, prefix: str = RUN_FOLDER_PREFIX, spare_s: float = 0.0
) -> None:
    """Remove the folders in `parent` that dead drivers of this user left behind.

    Folders that changed in the last `spare_s` seconds are kept: their guard may still be working.
    """
    with suppress(OSError):
        for folder in _own_folders(parent, prefix):
            is_spared = time.time() - _changed_at(folder) < spare_s
            if not is_spared and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _own_folders(parent: str, prefix: str) -> Iterable[Path]:
    """Yield this user's folders, without following links."""
    with os.scandir(parent) as entries:
        for entry in entries:
            is_ours = entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False)
            if is_ours and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                yield Path(entry)


def _is_abandoned(folder: Path) -> bool:
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:  # the driver is, or was, on another machine
        return time.time() - _changed_at(folder) > _OLD_AFTER_S
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _changed_at(folder: Path) -> float:
    """Return when a worker last started or ended in it."""
    return max((path.stat().st_mtime for path in [folder, *folder.iterdir()]), default=0.0)
