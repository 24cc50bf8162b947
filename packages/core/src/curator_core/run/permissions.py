"""Permissions of run directories, and safe access to their files: no links, no deleted files."""

import errno
import os
import stat
from contextlib import suppress

from curator_core.errors import OutputError, ResumeError

_WRITE = os.O_WRONLY | os.O_CREAT


class RunDirectoryDeletedError(OutputError):
    """A file that the run keeps open was deleted or moved, most likely with all its output."""


def refuse_deleted(path: str, file: int) -> None:
    """Raise if the open `file` is no longer at `path`: nothing may be published without it."""
    try:
        still_exists = os.path.samestat(os.stat(path), os.fstat(file))
    except OSError:
        still_exists = False
    if not still_exists:
        raise RunDirectoryDeletedError(
            f"{path} was moved or deleted during the run; put it back, or remove what is left of "
            "the output folder, then run the same command again"
        )


def make_run_folder(path: str, *, shared: bool = False) -> None:
    """Make a local run directory, writable by its owner, and by its group if `shared`.

    Refuse a world-writable folder: its files decide what a run moves and deletes.
    """
    os.makedirs(path, 0o755, exist_ok=True)
    mode = os.stat(path).st_mode
    if mode & stat.S_IWOTH and not _ignores_modes(path):
        raise ResumeError(
            f"the run directory {path} is world-writable; run chmod o-w {path}, or choose "
            "another place with run_dir (--run-dir)"
        )
    if shared and not mode & stat.S_IWGRP:
        os.chmod(path, stat.S_IMODE(mode) | _GROUP)


_GROUP = stat.S_IRWXG | stat.S_ISGID
"""With the setgid bit, files created in the folder belong to its group."""


def make_private_folder(path: str) -> None:
    """Make a local folder that only the owner, or the group of a shared run, can read."""
    mode = 0o770 if is_shared(os.path.dirname(path)) else 0o700
    with suppress(FileExistsError):
        os.mkdir(path, mode)
    refuse_link(path)
    with suppress(PermissionError):  # another member of the group created it
        os.chmod(path, mode)


def refuse_links(folder: str) -> None:
    """Raise if a run directory holds a link: writes would end up elsewhere."""
    with os.scandir(folder) as entries:
        for entry in entries:
            refuse_link(entry.path)


def refuse_link(path: str) -> None:
    if os.path.islink(path):
        raise ResumeError(
            f"{path} is a symbolic link, which a run never follows below its run directory; "
            "remove it, or choose another place with run_dir (--run-dir)"
        )


def open_run_file(path: str, flags: int) -> int:
    """Open a local file of a run and return its descriptor; links are refused."""
    is_shared_run = is_shared(os.path.dirname(path))
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o664 if is_shared_run else 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    if is_shared_run and flags & os.O_CREAT:
        with suppress(PermissionError):  # another member of the group created it
            os.fchmod(file, 0o664)
    return file


def replace_run_file(path: str, content: bytes, *, durable: bool = False) -> None:
    """Replace a local file of a run atomically."""
    draft = f"{path}.tmp"
    try:
        with open(open_run_file(draft, _WRITE | os.O_TRUNC), "wb", buffering=0) as file:
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
            if durable:
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise


def is_shared(folder: str) -> bool:
    """Whether the group of a local folder may write to it."""
    return bool(os.stat(folder).st_mode & stat.S_IWGRP)


def _ignores_modes(folder: str) -> bool:
    """Whether the file system has no permissions, like those of many USB disks."""
    probe = os.path.join(folder, f".{os.getpid()}.probe")
    file = os.open(probe, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        return bool(os.fstat(file).st_mode & 0o077)
    finally:
        os.close(file)
        os.unlink(probe)
