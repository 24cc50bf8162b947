"""HTTP downloads that follow redirects only to addresses that were checked."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urljoin

from curator_core.io.deadlines import Deadline, TimedSocket
from curator_core.io.public_addresses import RefusedError, connected, shown, target_of

PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which trying again may help."""

LONGEST_WAIT_S = 60.0
"""Nobody waits longer than this between two attempts, whatever a server asks for."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10


class PassingError(Exception):
    """Something that may be over at the next attempt."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def refuse_failure(url: str, answer: HTTPResponse, good: tuple[int, ...]) -> None:
    """An error for an answer that is none of the good ones: to try again, or to give up."""
    if answer.status in PASSING:
        raise PassingError(f"the server says {answer.status}", _asked_wait(answer))
    if answer.status not in good:
        raise RefusedError(f"{shown(url)}: the server says {answer.status} {answer.reason}")


def _asked_wait(answer: HTTPResponse) -> float:
    given = answer.getheader("Retry-After") or ""
    return float(given) if given.isascii() and given.isdigit() else 0.0


@dataclass(frozen=True)
class Client:
    """How files are asked for."""

    timeout_s: float = 60.0
    """How long a server may be silent."""

    allow_private: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """May hold keys, so they go to the first host only."""

    total_s: float = 6 * 3600.0
    """How long one answer may take, with its redirects and to the last byte of its body."""

    @contextmanager
    def response(self, url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        """The answer behind all redirects. Reading it raises TimeoutError when the time is up."""
        deadline = Deadline(self.total_s)
        given = self.headers
        first = target_of(url)[:3]
        for _ in range(_MOST_REDIRECTS + 1):
            if target_of(url)[:3] != first:
                given = {}
            asked = {"User-Agent": "curator", "Accept-Encoding": "identity", **given, **headers}
            connection = self._connection(url, deadline)
            try:
                connection.request("GET", target_of(url)[3], headers=asked)
                with connection.getresponse() as answer:
                    place = answer.getheader("Location")
                    if answer.status not in _REDIRECTS or not place:
                        yield answer
                        return
                    url = self._redirected(url, place)
            finally:
                connection.close()
        raise RefusedError(f"{shown(url)}: more than {_MOST_REDIRECTS} redirects")

    def _connection(self, url: str, deadline: Deadline) -> HTTPConnection:
        scheme, host, port, _ = target_of(url)
        connection = HTTPConnection(host, port)
        plain = connected(host, port, self.timeout_s, self.allow_private, deadline)
        try:
            if scheme == "https":
                plain.settimeout(deadline.left_s(self.timeout_s))
                plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        connection.sock = TimedSocket(plain, self.timeout_s, deadline)
        return connection

    def _redirected(self, url: str, place: str) -> str:
        there = urljoin(url, place)
        if target_of(url)[0] == "https" and target_of(there)[0] == "http":
            raise RefusedError(f"{shown(url)} leads from https to {shown(there)}")
        return there
