"""File systems: local folders and object stores behind fsspec's interface."""

import errno
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from curator_core.errors import CuratorError, InputError, UnavailableError
from curator_core.model.optional_dependencies import not_installed

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_NOT_FOUND = (404, 410)


def describe_server_error(error: BaseException) -> str | None:
    """Describe how a server failed; None if it answered that the file does not exist."""
    causes = list(_causes(error))
    statuses = [status for cause in causes if (status := getattr(cause, "status", None))]
    if statuses:
        return None if statuses[-1] in _NOT_FOUND else f"its server answers {statuses[-1]}"
    if not any(_is_network_error(cause) for cause in causes):
        return None
    return (
        f"its server does not answer ({causes[-1]}); check that it runs and can be reached from "
        "here, then retry what is in quarantine"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_network_error(error: BaseException) -> bool:
    """Return whether it is a network error, including unconverted errors of aiohttp."""
    if isinstance(error, ConnectionError | TimeoutError) or type(error).__module__ == "socket":
        return True
    is_unreachable = getattr(error, "errno", None) in (errno.EHOSTUNREACH, errno.ENETUNREACH)
    return is_unreachable or type(error).__module__.startswith("aiohttp")


StorageOptions: TypeAlias = Mapping[str, Any]

_LOCAL_PREFIXES = ("file://", "local://")

USUAL_PROTOCOLS = frozenset(
    ("file", "local", "http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hf")
)
"""Protocols that usually hold data. Others in fsspec execute what they read or allow any target."""

_LIBRARIES = {
    **dict.fromkeys(("s3", "s3a"), ("s3fs",)),
    **dict.fromkeys(("gs", "gcs"), ("gcsfs",)),
    **dict.fromkeys(("az", "abfs", "adl"), ("adlfs",)),
    **dict.fromkeys(("http", "https"), ("requests", "aiohttp")),
    **dict.fromkeys(("webhdfs", "github", "dbfs"), ("requests",)),
    **dict.fromkeys(("sftp", "ssh"), ("paramiko",)),
    "hf": ("huggingface_hub",),
    "smb": ("smbprotocol",),
    "oss": ("ossfs",),
    "oci": ("ocifs",),
    "webdav": ("webdav4",),
}
"""Libraries that protocols need, if their pip name equals the import name."""


def is_url(path: str) -> bool:
    return "://" in path or "::" in path


def is_in_memory(path: str) -> bool:
    """Return whether the file is in `memory://`, which each process has separately."""
    return path.rpartition("::")[2].startswith("memory://")


def paths_as_text(path: str | list[str] | os.PathLike[str]) -> str | list[str]:
    """Return paths as text; pathlib paths are accepted wherever a path is."""
    if isinstance(path, list | tuple):
        return [str(one) for one in path]
    return path if isinstance(path, str) else os.fspath(path)


def local_path(path: str) -> str | None:
    """Return the absolute path of a local file, or None if `path` is not local."""
    for prefix in _LOCAL_PREFIXES:
        if path.startswith(prefix):
            path = path[len(prefix) :]
    return None if is_url(path) else os.path.abspath(os.path.expanduser(path))


def open_filesystem(
    path: str, storage_options: StorageOptions | None = None
) -> "tuple[AbstractFileSystem, str]":
    """Return the file system of `path`, and the path to use with it."""
    # Importing fsspec takes a third of the import time budget of curator_core.
    from fsspec.core import url_to_fs

    plain = local_path(path)
    options = (storage_options or {}) if plain is None else {}
    try:
        return url_to_fs(plain or path, **options)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as error:  # unknown protocol, or its library is missing
        raise CuratorError(f"cannot open {path}: {_missing_library(path) or error}") from None


def _missing_library(path: str) -> str | None:
    """Return what to install for the protocols of `path`; fsspec does not give a command."""
    for link in path.split("::"):
        protocol = link.partition("://")[0]
        needed = _LIBRARIES.get(protocol, ())
        command = f"pip install {' '.join(needed)}"
        if problem := not_installed(f"{protocol}://", needed, command):
            return problem
    return None


def is_local(fs: "AbstractFileSystem") -> bool:
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    return "file" in protocols


def full_path(fs: "AbstractFileSystem", path: str) -> str:
    """Return a path that any worker can open: with its protocol, unless it is local."""
    return path if is_local(fs) else str(fs.unstrip_protocol(path))


def join(folder: str, *names: str) -> str:
    """Return a path in `folder`, which may be a URL."""
    return "/".join((folder.rstrip("/") if folder.strip("/") else folder, *names))


def base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def parent_of(path: str) -> str:
    """Return the folder that contains `path`; the root is its own parent."""
    head = path.rstrip("/").rpartition("/")[0]
    return head or ("/" if path.startswith("/") else "")


def nearest_folder(fs: "AbstractFileSystem", path: str) -> str:
    """Return the closest existing folder at or above `path`, for error messages."""
    folder = path
    while not fs.isdir(folder):
        above = parent_of(folder)
        if above == folder:
            break
        folder = above
    return full_path(fs, folder)


def open_input(path: str, storage_options: StorageOptions | None = None) -> BinaryIO:
    """Open a file for reading. Permanent problems raise an error that names the file."""
    plain = local_path(path)
    try:
        if plain is not None:
            return open(plain, "rb", buffering=0)
        fs, remote = open_filesystem(path, storage_options)
        return cast(BinaryIO, fs.open(remote, "rb"))
    except FileNotFoundError as error:
        reason = None if plain is not None else describe_server_error(error)
        reason = reason or "it does not exist (any more)"
        raise UnavailableError(f"cannot read {path}: {reason}") from None
    except PermissionError:
        raise UnavailableError(f"cannot read {path}: permission denied; allow reading it") from None
    except IsADirectoryError:
        raise InputError(f"cannot read {path}: it is a folder") from None
