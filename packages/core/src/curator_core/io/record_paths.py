"""Paths from records: opened with checks, because the data chose them and not the user.

A row of a manifest may contain any address. So only local files, the usual object stores and public
web servers are allowed; requests to web servers have the same checks as downloads.
"""

import http.client
import os
from collections.abc import Mapping
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from curator_core.errors import UnavailableError
from curator_core.io.filesystems import USUAL_PROTOCOLS, StorageOptions, is_url, open_input
from curator_core.io.http import (
    HttpClient,
    PrivateHostError,
    RefusedError,
    TemporaryError,
    loggable_url,
    raise_for_status,
)

MOST_BYTES = 2 * 1024**3
"""Larger files on web servers are refused."""

HOSTS_VARIABLE = "CURATOR_PRIVATE_HOSTS"
"""Environment variable with hosts that records may name although they are not public."""

_HARMLESS = (USUAL_PROTOCOLS | {"memory", "tar", "zip"}) - {"http", "https"}
"""Protocols whose server is not part of the path."""

_IN_MEMORY = 32 * 1024**2
_CHUNK_BYTES = 1024**2
_SILENCE_S, _TOTAL_S = 20.0, 600.0


def open_record_path(path: str, storage_options: StorageOptions | None = None) -> BinaryIO:
    """Open a file that a record names. Raise RefusedError if records may not name it."""
    check_record_path(path)
    if urlsplit(path).scheme in ("http", "https") and "::" not in path:
        return _download(path, storage_options or {})
    return open_input(path, storage_options)


def check_record_path(path: str) -> None:
    """Raise RefusedError for a path that data may not name."""
    if "\0" in path:
        raise RefusedError(f"the path {path[:300]!r} has a NUL character in it")
    if not is_url(path):
        return
    links = path.split("::")
    for link in links:
        protocol = _protocol_of(link)
        if protocol in _HARMLESS or _host_of(link) in _private_hosts():
            continue
        if protocol in ("http", "https") and len(links) == 1:
            continue  # the client checks its addresses
        raise RefusedError(
            f"{loggable_url(path)}: records may name local files, http(s) and the usual object "
            f"stores, not {protocol}://; if its host is yours, add it to {HOSTS_VARIABLE}"
        )


def _protocol_of(link: str) -> str:
    """Return the protocol as fsspec does: a bare word in a chain is a protocol."""
    head, mark, _ = link.partition("://")
    return head.lower() if mark or (link.isascii() and link.isalpha()) else "file"


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _private_hosts() -> set[str]:
    listed = os.environ.get(HOSTS_VARIABLE, "").lower().split(",")
    return {host.strip() for host in listed if host.strip()}


def _download(url: str, storage_options: Mapping[str, Any]) -> BinaryIO:
    """Return the content from a web server, in memory, or in an unnamed file if it is large."""
    is_private = _host_of(url) in _private_hosts()
    client = HttpClient(_SILENCE_S, is_private, storage_options.get("headers") or {}, _TOTAL_S)
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        _fetch(client, url, file)
    except PrivateHostError as error:
        file.close()
        remedy = f"if it is yours, add it to {HOSTS_VARIABLE}"
        raise PrivateHostError(error.host, error.address, remedy) from None
    except (TemporaryError, OSError, http.client.HTTPException) as error:
        file.close()
        reason = str(error) or type(error).__name__
        raise UnavailableError(f"{loggable_url(url)} cannot be fetched: {reason}") from None
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return cast(BinaryIO, file)


def _fetch(client: HttpClient, url: str, file: "SpooledTemporaryFile[bytes]") -> None:
    with client.response(url, {}) as answer:
        raise_for_status(url, answer, (200,))
        announced = answer.length
        _refuse_large(url, announced or 0)
        while chunk := answer.read1(_CHUNK_BYTES):
            file.write(chunk)
            _refuse_large(url, file.tell())
    if announced is not None and file.tell() != announced:
        raise TemporaryError(f"received {file.tell()} of {announced} bytes")


def _refuse_large(url: str, size: int) -> None:
    if size > MOST_BYTES:
        raise RefusedError(f"{loggable_url(url)} is larger than {MOST_BYTES // 1024**3} GiB")
