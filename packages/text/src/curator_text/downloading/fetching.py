"""Fetching: download a URL to a file atomically, resuming partial downloads."""

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
from curator_core.io.http import LONGEST_WAIT_S, Client, PassingError, refuse_failure
from curator_core.io.public_addresses import RefusedError, shown

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
            raise InputError(f"checksum {text!r:.80} is none; write it like sha256:9f86…")
        return cls(algorithm, digest)

    def check(self, path: Path, url: str) -> None:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, self.algorithm).hexdigest()
        if found != self.digest:
            raise InputError(
                f"{shown(url)} has {self.algorithm} {found}, but should have {self.digest}"
            )


@dataclass(frozen=True)
class Fetching:
    """How to download files: HTTP client, size limit and retries."""

    client: Client
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
                self._attempt(url, part)
                break
            except (PassingError, OSError, http.client.HTTPException) as error:
                if attempt == self.attempts:
                    raise UnavailableError(_told(url, error, attempt)) from None
                wait = max(getattr(error, "wait_s", 0.0), self.backoff_s * 2 ** (attempt - 1))
                time.sleep(min(wait, LONGEST_WAIT_S))
        self._publish(url, part, target, checksum)

    def _publish(self, url: str, part: Path, target: Path, checksum: Checksum | None) -> None:
        try:
            if checksum is not None:
                checksum.check(part, url)
        except InputError:
            part.unlink()
            raise
        finally:
            _state(part).unlink(missing_ok=True)
        os.replace(part, target)

    def _attempt(self, url: str, part: Path) -> None:
        begun, known = _begun(part, url)
        headers = {"Range": f"bytes={begun}-", "If-Range": known} if begun else {}
        with self.client.response(url, headers) as answer:
            if answer.status == 416 and begun:
                _state(part).unlink(missing_ok=True)
                raise PassingError("the part that was there does not fit any more")
            refuse_failure(url, answer, (200, 206))
            start = begun if answer.status == 206 and _fits(answer, begun) else 0
            if answer.status == 206 and start != begun:
                _state(part).unlink(missing_ok=True)
                raise PassingError("the server sent another part than was asked for")
            self._save(answer, url, part, start)

    def _save(self, answer: HTTPResponse, url: str, part: Path, start: int) -> None:
        announced = answer.length
        self._refuse_large(url, part, start + (announced or 0))
        tag = answer.getheader("ETag") or answer.getheader("Last-Modified") or ""
        resumable = tag and not tag.startswith("W/")
        _state(part).write_text(json.dumps({"url": url, "tag": tag if resumable else ""}))
        size = start
        with open(part, "r+b" if start else "wb") as file:
            file.truncate(start)
            file.seek(start)
            while chunk := answer.read1(_CHUNK_BYTES):
                size += len(chunk)
                self._refuse_large(url, part, size)
                file.write(chunk)
        if announced is not None and size - start != announced:
            raise PassingError(f"{size - start} of {announced} bytes came")

    def _refuse_large(self, url: str, part: Path, size: int) -> None:
        if self.max_bytes is not None and size > self.max_bytes:
            part.unlink(missing_ok=True)
            _state(part).unlink(missing_ok=True)
            raise RefusedError(f"{shown(url)} is larger than {self.max_bytes} bytes (max_bytes)")


def _told(url: str, error: Exception, attempts: int) -> str:
    said = str(error) or type(error).__name__
    return f"{shown(url)} cannot be fetched: {said} ({attempts} attempts)"


def _state(part: Path) -> Path:
    """Return the state file of a partial download. It ties the part to one version of the file."""
    return part.with_name(f"{part.name}.json")


def _begun(part: Path, url: str) -> tuple[int, str]:
    facts: Mapping[str, str] = {}
    with suppress(OSError, ValueError):
        facts = json.loads(_state(part).read_text())
    if not facts.get("tag") or facts.get("url") != url or not part.exists():
        return 0, ""
    return part.stat().st_size, facts["tag"]


def _fits(answer: HTTPResponse, begun: int) -> bool:
    return (answer.getheader("Content-Range") or "").startswith(f"bytes {begun}-")
