"""HTTP downloads that check the address of every redirect."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urljoin

from curator_core.io.deadlines import Deadline, TimedSocket
from curator_core.io.public_addresses import RefusedError, connected, shown, target_of

PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Status codes after which a retry may succeed."""

LONGEST_WAIT_S = 60.0
"""Upper limit for the wait between two attempts, whatever a server asks for."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10


class PassingError(Exception):
    """A temporary error; a retry may succeed."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def refuse_failure(url: str, answer: HTTPResponse, good: tuple[int, ...]) -> None:
    """Raise for a status that is not in `good`: PassingError if temporary, else RefusedError."""
    if answer.status in PASSING:
        raise PassingError(f"the server says {answer.status}", _asked_wait(answer))
    if answer.status not in good:
        raise RefusedError(f"{shown(url)}: the server says {answer.status} {answer.reason}")


def _asked_wait(answer: HTTPResponse) -> float:
    given = answer.getheader("Retry-After") or ""
    return float(given) if given.isascii() and given.isdigit() else 0.0


@dataclass(frozen=True)
class Client:
    """HTTP client for files, with timeouts and address checks."""

    timeout_s: float = 60.0
    """Seconds without data from the server until the request fails."""

    allow_private: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """May hold keys, so they are only sent to the first host."""

    total_s: float = 6 * 3600.0
    """Seconds that one response may take, including redirects and the whole body."""

    @contextmanager
    def response(self, url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        """Yield the response after all redirects. Reading it may raise TimeoutError."""
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
