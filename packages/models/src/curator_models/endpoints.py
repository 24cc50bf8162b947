"""Chat endpoints: ask servers with OpenAI's protocol about images or texts."""

import base64
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from curator_core import CuratorError
from curator_core.io.http import Deadline, TimedSocket
from curator_core.model.secrets import MIN_LENGTH, redact, remember

MAX_WAIT_S = 60.0
_CHECK_TIMEOUT_S = 10.0
_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_MAX_SHOWN = 200
_TEMPORARY = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_BAD_REQUEST = {400, 413, 415, 422}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class EndpointError(CuratorError):
    """An endpoint cannot be used as it is configured; no other request would succeed either."""


class NoAnswerError(CuratorError):
    """An endpoint gave no answer to a request, after all attempts."""


class _TemporaryError(CuratorError):
    """A failure that a retry may resolve."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _limit_duration(connection: HTTPConnection) -> None:
    """Apply the timeout to the whole exchange, however slowly bytes arrive."""
    total_s = connection.timeout or 0.0
    timed = TimedSocket(connection.sock, total_s, Deadline(total_s))
    connection.sock = timed


class _Connection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _limit_duration(self)


class _SecureConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _limit_duration(self)


class _Plain(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Secure(HTTPSHandler):
    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, req)


_OPENER = build_opener(_NoRedirects, _Plain, _Secure)


@dataclass(frozen=True)
class ChatEndpoint:
    """An endpoint with its timeout and retries. Its key is read from an environment variable."""

    url: str
    model: str
    api_key_variable: str | None = None
    timeout_s: float = 120.0
    attempts: int = 5
    backoff_s: float = 1.0

    def problems(self) -> Iterator[str]:
        """Yield the problems that can be found before any request."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            yield f"url is {redact(self.url)!r}; write it like https://host/v1"
        elif parts.username or parts.password:
            yield (
                "url contains a user or a password: put the key into an environment variable, and "
                "name that in api_key_variable"
            )
        elif parts.scheme == "http" and self.api_key_variable and parts.hostname not in _LOOPBACK:
            yield f"the key would be sent to {parts.hostname} unencrypted: use https"
        variable = self.api_key_variable
        if variable is not None and not os.environ.get(variable):
            yield f"api_key_variable is {variable!r}, but no such environment variable is set"
        if self.attempts < 1:
            yield f"attempts is {self.attempts}, but must be 1 or more"
        if self.timeout_s <= 0:
            yield f"request_timeout_s is {self.timeout_s:g}, but must be more than 0"

    def ask(self, prompt: str, max_tokens: int, images: Sequence[bytes] = ()) -> str:
        """Return the model's answer. Images (JPEG) are sent before the text."""
        body = json.dumps(self._request_body(prompt, max_tokens, images)).encode()
        for attempt in range(1, self.attempts + 1):
            try:
                return self._send(body)
            except _TemporaryError as error:
                if attempt == self.attempts:
                    tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                    raise NoAnswerError(f"{error} (after {tries})") from None
                time.sleep(self._wait_s(attempt, error.wait_s))
        raise AssertionError("attempts is at least 1")

    def check_access(self) -> None:
        """Request one word, to fail early with an EndpointError if the key or the model is refused.

        A server that is only busy is not an error: it may answer later.
        """
        timeout_s = min(self.timeout_s, _CHECK_TIMEOUT_S)
        with suppress(NoAnswerError):
            replace(self, attempts=1, timeout_s=timeout_s).ask("Hello!", 1)

    def _wait_s(self, attempt: int, requested: float) -> float:
        return min(max(requested, self.backoff_s * 2.0 ** (attempt - 1)), MAX_WAIT_S)

    def _request_body(
        self, prompt: str, max_tokens: int, images: Sequence[bytes]
    ) -> dict[str, Any]:
        content = [*map(_image_part, images), {"type": "text", "text": prompt}]
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": content if images else prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
        }

    def _send(self, body: bytes) -> str:
        request = Request(f"{self.url.rstrip('/')}/chat/completions", body, self._headers())
        try:
            with _OPENER.open(request, timeout=self.timeout_s) as response:
                return _answer_text(response.read(_MAX_ANSWER_BYTES))
        except HTTPError as error:
            with error:
                raise _error_for(error) from None
        except (URLError, OSError, HTTPException) as error:  # timeout, lost connection, not HTTP
            reason = " ".join(str(getattr(error, "reason", error)).split())
            raise _TemporaryError(f"{self._host} does not answer: {redact(reason)}") from None

    @property
    def _host(self) -> str:
        return urlsplit(self.url).netloc

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "curator"}
        if self.api_key_variable is not None:
            key = os.environ.get(self.api_key_variable, "")
            if len(key) >= MIN_LENGTH:
                remember(key, f"${{secret:{self.api_key_variable}}}")
            headers["Authorization"] = f"Bearer {key}"
        return headers


def _image_part(jpeg: bytes) -> dict[str, Any]:
    url = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _answer_text(raw: bytes) -> str:
    try:
        text = json.loads(raw)["choices"][0]["message"]["content"]
        if isinstance(text, list):
            text = "".join(str(part.get("text", "")) for part in text)
    except (ValueError, LookupError, TypeError, AttributeError):
        start = redact(raw[:_MAX_SHOWN].decode(errors="replace"))
        raise _TemporaryError(f"cannot read the answer of the endpoint: {start!r}") from None
    if not isinstance(text, str) or not text.strip():
        raise _TemporaryError("the answer of the endpoint is empty")
    return text.strip()


def _error_for(error: HTTPError) -> CuratorError:
    try:
        body = error.read(_MAX_ANSWER_BYTES).decode(errors="replace")
    except (OSError, HTTPException):
        body = ""
    start = redact(" ".join(body.split())[:_MAX_SHOWN])
    message = f"the endpoint answered {error.code} {error.reason}" + (f": {start}" if start else "")
    if error.code in _TEMPORARY:
        return _TemporaryError(message, _seconds(error.headers.get("Retry-After")))
    if error.code in _BAD_REQUEST:
        return NoAnswerError(message)
    if 300 <= error.code < 400:
        return EndpointError(f"{message}; redirects are not followed: set url to the new address")
    return EndpointError(f"{message}; check url, model and the key in api_key_variable")


def _seconds(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:  # a date: use the usual wait
        return 0.0
