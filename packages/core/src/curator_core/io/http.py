"""HTTP downloads with deadlines, which only contact public addresses, also after redirects.

A list of URLs, or a redirect, may name hosts that only this machine can reach. So names are
resolved here, each of their addresses is checked, and the connection uses a checked address: a
different answer of the name server later changes nothing.
"""

import io
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

from curator_core.errors import InputError


@dataclass(frozen=True)
class Deadline:
    """Time limit of a whole request: connecting, headers, body and redirects."""

    total_s: float
    end: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "end", time.monotonic() + self.total_s)

    def left_s(self, most_s: float) -> float:
        """Return the seconds for the next step, at most `most_s`; TimeoutError if none are left."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took longer than {self.total_s:g} s")
        return min(left, most_s)


class TimedSocket:
    """A connected socket for http.client with timeouts.

    Each step may take `idle_s`, and all steps together may not exceed the deadline.
    """

    def __init__(self, connected: socket.socket, idle_s: float, deadline: Deadline) -> None:
        self._socket = connected
        self._idle_s = idle_s
        self._deadline = deadline

    def set_timeout(self) -> None:
        """Set the timeout of the next step."""
        self._socket.settimeout(self._deadline.left_s(self._idle_s))

    def sendall(self, data: Any) -> None:
        self.set_timeout()
        self._socket.sendall(data)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self, self._socket))

    def close(self) -> None:
        self._socket.close()


class _Reads(io.RawIOBase):
    """Raw reader of a socket. The socket stays open until this is closed, too."""

    def __init__(self, timed: TimedSocket, connected: socket.socket) -> None:
        self._timed = timed
        self._raw = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._timed.set_timeout()
        try:
            return self._raw.readinto(buffer)
        except TimeoutError:
            self._timed.set_timeout()  # raises if the deadline was exceeded
            raise

    def close(self) -> None:
        self._raw.close()
        super().close()


class RefusedError(InputError):
    """A URL that must not be requested; a retry does not help."""


class PrivateHostError(RefusedError):
    """A host in a private network or on this machine."""

    def __init__(
        self, host: str, address: str, remedy: str = "set allow_private if it is meant"
    ) -> None:
        super().__init__(f"{host} is at {address}, which is not a public address; {remedy}")
        self.host = host
        self.address = address


def parse_url(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and request target."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise RefusedError(f"{loggable_url(url)} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefusedError(f"{loggable_url(url)} is not an http:// or https:// URL")
    if parts.username is not None or parts.password is not None:
        raise RefusedError(f"{loggable_url(url)} holds a password; give it in headers")
    if any(not " " < letter < "\x7f" for letter in url):
        raise RefusedError(
            f"{loggable_url(url)} has characters that are not allowed in a URL; quote them"
        )
    path = parts.path or "/"
    return parts.scheme, parts.hostname, port, f"{path}?{parts.query}" if parts.query else path


def loggable_url(url: str) -> str:
    """Return a URL for messages, without user, password and query, which may hold keys."""
    head = url.partition("?")[0].partition("#")[0][:300]
    scheme, mark, rest = head.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else head


def connect(
    host: str, port: int, timeout_s: float, allow_private: bool, deadline: Deadline
) -> socket.socket:
    """Connect to a host that may be contacted."""
    last: OSError | None = None
    for address in _addresses(host, port, allow_private):
        try:
            return socket.create_connection((address, port), deadline.left_s(timeout_s))
        except OSError as error:
            last = error
    raise last or OSError(f"{host} has no address")


def _addresses(host: str, port: int, allow_private: bool) -> Iterator[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:  # refuse all: one private address among public ones is a trap
        if not allow_private and not is_public(address):
            raise PrivateHostError(host, address)
    yield from addresses


_SPECIAL_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, and metadata services of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # IETF protocols
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, withdrawn
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # network benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
"""Special addresses from IANA's registry that no public web server uses."""

_SPECIAL_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # IETF protocols: Teredo, benchmarks, ORCHID and more
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
"""The same within 2000::/3; there are no public web servers outside of it."""

_UNICAST = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def is_public(address: str) -> bool:
    """Return whether an address is public. For mapped IPv4 addresses, check the IPv4 address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _SPECIAL_IPV4)
    inner = _inner(found)
    if inner is not None:
        return is_public(str(inner))
    return found in _UNICAST and not any(found in network for network in _SPECIAL_IPV6)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that is embedded in an IPv6 address, if any."""
    if address in _MAPPED or address in _TRANSLATED:
        return IPv4Address(address.packed[-4:])
    return IPv4Address(address.packed[2:6]) if address in _SIX_TO_FOUR else None


TEMPORARY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
"""Status codes after which a retry may succeed."""

MAX_WAIT_S = 60.0
"""Upper limit for the wait between two attempts, whatever a server asks for."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 10


class TemporaryError(Exception):
    """A temporary error; a retry may succeed."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def raise_for_status(url: str, answer: HTTPResponse, good: tuple[int, ...]) -> None:
    """Raise for a status that is not in `good`: TemporaryError if temporary, else RefusedError."""
    if answer.status in TEMPORARY_STATUSES:
        raise TemporaryError(f"the server answered {answer.status}", _asked_wait(answer))
    if answer.status not in good:
        raise RefusedError(
            f"{loggable_url(url)}: the server answered {answer.status} {answer.reason}"
        )


def _asked_wait(answer: HTTPResponse) -> float:
    given = answer.getheader("Retry-After") or ""
    return float(given) if given.isascii() and given.isdigit() else 0.0


@dataclass(frozen=True)
class HttpClient:
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
        first = parse_url(url)[:3]
        for _ in range(_MAX_REDIRECTS + 1):
            if parse_url(url)[:3] != first:
                given = {}
            asked = {"User-Agent": "curator", "Accept-Encoding": "identity", **given, **headers}
            connection = self._connection(url, deadline)
            try:
                connection.request("GET", parse_url(url)[3], headers=asked)
                with connection.getresponse() as answer:
                    place = answer.getheader("Location")
                    if answer.status not in _REDIRECTS or not place:
                        yield answer
                        return
                    url = self._follow_redirect(url, place)
            finally:
                connection.close()
        raise RefusedError(f"{loggable_url(url)}: more than {_MAX_REDIRECTS} redirects")

    def _connection(self, url: str, deadline: Deadline) -> HTTPConnection:
        scheme, host, port, _ = parse_url(url)
        connection = HTTPConnection(host, port)
        plain = connect(host, port, self.timeout_s, self.allow_private, deadline)
        try:
            if scheme == "https":
                plain.settimeout(deadline.left_s(self.timeout_s))
                plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        connection.sock = TimedSocket(plain, self.timeout_s, deadline)
        return connection

    def _follow_redirect(self, url: str, place: str) -> str:
        there = urljoin(url, place)
        if parse_url(url)[0] == "https" and parse_url(there)[0] == "http":
            raise RefusedError(f"{loggable_url(url)} redirects from https to {loggable_url(there)}")
        return there
