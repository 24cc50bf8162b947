"""Leftovers: folders of posts whose driver was killed, so that nobody removed them.

A driver holds a lock in its folder as long as it lives, and the system lets it go however it dies.
On nodes without a driver there is no such lock: there, folders that nobody touched for long go.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PREFIX = "curator-posts-"
_LOCK = "driver.lock"
_IS_OLD_AFTER_S = 7 * 24 * 3600.0


class Claim:
    """The hold of this process on its folder."""

    def __init__(self, folder: str, *, is_made: bool = False) -> None:
        if not is_made:
            Path(folder).mkdir(mode=0o700)
        file = Path(folder, f"{_LOCK}.new")
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        file.rename(Path(folder, _LOCK))  # which is never seen without its holder

    def release(self) -> None:
        """To be called when the folder is removed."""
        os.close(self._handle)


def remove_leftovers(parent: str, prefix: str = PREFIX, spared_s: float = 0.0) -> None:
    """Remove what dead drivers of this user left in `parent`.

    What was touched in the last `spared_s` seconds stays: its guard may be at work yet.
    """
    with suppress(OSError):
        for folder in _folders_of_ours(parent, prefix):
            is_spared = time.time() - _touched_at(folder) < spared_s
            if not is_spared and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _folders_of_ours(parent: str, prefix: str) -> Iterable[Path]:
    """Those of other users are none of our business, and neither is what a link leads to."""
    with os.scandir(parent) as entries:
        for entry in entries:
            is_one = entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False)
            if is_one and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                yield Path(entry)


def _is_abandoned(folder: Path) -> bool:
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:  # its driver is, or was, on another machine
        return time.time() - _touched_at(folder) > _IS_OLD_AFTER_S
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _touched_at(folder: Path) -> float:
    """When a worker last began or ended in it."""
    return max((path.stat().st_mtime for path in [folder, *folder.iterdir()]), default=0.0)
