"""Fetch a URL to a file atomically, resuming partial downloads."""

import hashlib
import http.client
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

from curator_core import InputError
from curator_core.errors import UnavailableError
from curator_core.io.http import (
    MAX_WAIT_S,
    HttpClient,
    RefusedError,
    TemporaryError,
    loggable_url,
    raise_for_status,
)

_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Checksum:
    """Expected checksum of a file, such as `sha256:9f86…`."""

    algorithm: str
    digest: str

    @classmethod
    def of(cls, text: str) -> "Checksum":
        algorithm, _, digest = text.strip().lower().partition(":")
        lengths = {"sha256": 64, "md5": 32, "sha1": 40, "sha512": 128}
        if lengths.get(algorithm) != len(digest) or digest.strip("0123456789abcdef"):
            raise InputError(f"checksum {text!r:.80} is not valid; write it like sha256:9f86…")
        return cls(algorithm, digest)

    def check(self, path: Path, url: str) -> None:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, self.algorithm).hexdigest()
        if found != self.digest:
            raise InputError(
                f"{loggable_url(url)} has {self.algorithm} {found}, but should have {self.digest}"
            )


@dataclass(frozen=True)
class Fetcher:
    """How to download files: HTTP client, size limit and retries."""

    client: HttpClient
    max_bytes: int | None = None
    attempts: int = 5
    backoff_s: float = 1.0

    def fetch(self, url: str, target: Path, checksum: Checksum | None = None) -> None:
        """Download `url` to `target`. An existing file is only checked, not replaced."""
        if target.exists():
            if checksum is not None:
                checksum.check(target, url)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        for attempt in range(1, self.attempts + 1):
            try:
                self._try_once(url, part)
                break
            except (TemporaryError, OSError, http.client.HTTPException) as error:
                if attempt == self.attempts:
                    raise UnavailableError(_describe_failure(url, error, attempt)) from None
                wait = max(getattr(error, "wait_s", 0.0), self.backoff_s * 2 ** (attempt - 1))
                time.sleep(min(wait, MAX_WAIT_S))
        self._publish(url, part, target, checksum)

    def _publish(self, url: str, part: Path, target: Path, checksum: Checksum | None) -> None:
        try:
            if checksum is not None:
                checksum.check(part, url)
        except InputError:
            part.unlink()
            raise
        finally:
            _state_path(part).unlink(missing_ok=True)
        os.replace(part, target)

    def _try_once(self, url: str, part: Path) -> None:
        offset, etag = _find_resume_point(part, url)
        headers = {"Range": f"bytes={offset}-", "If-Range": etag} if offset else {}
        with self.client.response(url, headers) as response:
            if response.status == 416 and offset:
                _state_path(part).unlink(missing_ok=True)
                raise TemporaryError("the partial download does not match the file any more")
            raise_for_status(url, response, (200, 206))
            start = offset if response.status == 206 and _continues_at(response, offset) else 0
            if response.status == 206 and start != offset:
                _state_path(part).unlink(missing_ok=True)
                raise TemporaryError("the server sent a different byte range than requested")
            self._save(response, url, part, start)

    def _save(self, response: HTTPResponse, url: str, part: Path, start: int) -> None:
        expected = response.length
        self._refuse_large(url, part, start + (expected or 0))
        tag = response.getheader("ETag") or response.getheader("Last-Modified") or ""
        resumable = tag and not tag.startswith("W/")
        _state_path(part).write_text(json.dumps({"url": url, "tag": tag if resumable else ""}))
        size = start
        with open(part, "r+b" if start else "wb") as file:
            file.truncate(start)
            file.seek(start)
            while chunk := response.read1(_CHUNK_BYTES):
                size += len(chunk)
                self._refuse_large(url, part, size)
                file.write(chunk)
        if expected is not None and size - start != expected:
            raise TemporaryError(f"received {size - start} of {expected} bytes")

    def _refuse_large(self, url: str, part: Path, size: int) -> None:
        if self.max_bytes is not None and size > self.max_bytes:
            part.unlink(missing_ok=True)
            _state_path(part).unlink(missing_ok=True)
            raise RefusedError(
                f"{loggable_url(url)} is larger than {self.max_bytes} bytes (max_bytes)"
            )


def _describe_failure(url: str, error: Exception, attempts: int) -> str:
    reason = str(error) or type(error).__name__
    return f"{loggable_url(url)} cannot be fetched: {reason} ({attempts} attempts)"


def _state_path(part: Path) -> Path:
    """Return the state file of a partial download. It ties the part to one version of the file."""
    return part.with_name(f"{part.name}.json")


def _find_resume_point(part: Path, url: str) -> tuple[int, str]:
    state: Mapping[str, str] = {}
    with suppress(OSError, ValueError):
        state = json.loads(_state_path(part).read_text())
    if not state.get("tag") or state.get("url") != url or not part.exists():
        return 0, ""
    return part.stat().st_size, state["tag"]


def _continues_at(response: HTTPResponse, offset: int) -> bool:
    return (response.getheader("Content-Range") or "").startswith(f"bytes {offset}-")
