"""Atomic writes: a file gets its final name only when it is complete.

Object stores cannot rename, so there a file is kept in memory and sent with one PUT.
"""

import errno
import io
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from curator_core.errors import OutputError
from curator_core.io.filesystems import (
    StorageOptions,
    base_name,
    full_path,
    is_local,
    join,
    local_path,
    open_filesystem,
    parent_of,
)
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import StagedFile

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_LONGEST_NAME = 255

_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space, then run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space, then run the same command again",
    errno.EFBIG: "the file would be larger than is allowed there; raise the limit (ulimit -f) or "
    "choose another folder, then run the same command again",
    errno.EACCES: "permission denied; allow writing there or choose another folder, "
    "then run the same command again",
    errno.EPERM: "permission denied; allow writing there or choose another folder, "
    "then run the same command again",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder; choose another folder",
    errno.EEXIST: "a part of the path is a file, not a folder; choose another folder",
    errno.EISDIR: "a folder has that name; remove it or choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter path",
}


@dataclass
class Draft:
    """A file that is being written. The writing code sets `items`."""

    file: BinaryIO
    staged: str
    final: str
    items: int = 0
    size: int = 0
    dropped: bool = False

    def staged_file(self) -> StagedFile:
        """Return the staged file to publish, after `writing` has ended."""
        return StagedFile(self.staged, self.final, self.items, self.size, self.dropped)


def staged_name(final: str, run_token: str) -> str:
    """Return a hidden name in the folder of `final`, different at each call."""
    ending = f".{run_token}.{secrets.token_hex(8)}.staged"
    room = _LONGEST_NAME - len(ending) - 1
    base = base_name(final).encode()[:room].decode(errors="ignore")
    return join(parent_of(final), f".{base}{ending}")


@contextmanager
def open_draft(
    final: str, worker: WorkerInfo, storage_options: StorageOptions | None = None
) -> Iterator[Draft]:
    """Write a file to be published later. After an exception, nothing of it remains."""
    plain = local_path(final)
    with explain_write_errors(final):
        if plain is None:
            yield from _write_to_object_store(final, storage_options)
        else:
            yield from _write_to_disk(plain, worker.run_token)


def _write_to_disk(final: str, run_token: str) -> Iterator[Draft]:
    os.makedirs(parent_of(final), exist_ok=True)
    staged = staged_name(final, run_token)
    file = open(staged, "xb")  # noqa: SIM115 - closed below, before the name is passed on
    try:
        draft = Draft(file, staged, final)
        yield draft
        file.flush()
        os.fsync(file.fileno())
        draft.size = file.tell()
        file.close()
    except BaseException:
        with suppress(OSError):
            file.close()  # flushes again, which fails again if the disk is full
        with suppress(OSError):
            os.unlink(staged)
        raise


def _write_to_object_store(final: str, storage_options: StorageOptions | None) -> Iterator[Draft]:
    fs, path = open_filesystem(final, storage_options)
    where = full_path(fs, path)
    buffer = io.BytesIO()
    draft = Draft(buffer, where, where)
    yield draft
    content = buffer.getvalue()
    draft.size = len(content)
    fs.pipe_file(path, content)


@contextmanager
def explain_write_errors(path: str) -> Iterator[None]:
    """Turn permanent write errors (a full disk, a forbidden folder) into an OutputError."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0)
        if remedy is None:  # may be temporary: left to the stage's retries
            raise
        raise OutputError(f"cannot write {path}: {remedy}") from error


def publish(fs: "AbstractFileSystem", file: StagedFile) -> None:
    """Rename a staged file to its final name. Safe to repeat."""
    if file.staged == file.final:
        if not fs.exists(file.final):
            raise OutputError(
                f"{file.final} was written, but no longer exists; run the same command again"
            )
        return
    with explain_write_errors(file.final):
        try:
            os.replace(file.staged, file.final)
        except FileNotFoundError:
            if not os.path.exists(file.final):
                raise OutputError(
                    f"cannot publish {file.final}: neither it nor its staged file "
                    f"{base_name(file.staged)} exists; "
                    "run the same command again to write it"
                ) from None


def find_staged(fs: "AbstractFileSystem", folder: str, run_token: str) -> list[str]:
    """Return files that this run staged in `folder` and did not publish; leftovers if it ended."""
    if not is_local(fs):
        return []
    ours = re.compile(rf"\..*\.{re.escape(run_token)}\.[0-9a-f]{{16}}\.staged")
    plain = local_path(folder) or folder
    try:
        names = os.listdir(plain)
    except FileNotFoundError:
        return []
    return sorted(join(plain, name) for name in names if ours.fullmatch(name))
