"""Public addresses: which hosts may be contacted.

A list of URLs, or a redirect, may name hosts that only this machine can reach. So names are
resolved here, each of their addresses is checked, and the connection uses a checked address: a
different answer of the name server later changes nothing.
"""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from curator_core.errors import InputError
from curator_core.io.deadlines import Deadline


class RefusedError(InputError):
    """A URL that must not be requested; a retry does not help."""


class PrivateHostError(RefusedError):
    """A host in a private network or on this machine."""

    def __init__(
        self, host: str, address: str, way_out: str = "set allow_private if it is meant"
    ) -> None:
        super().__init__(f"{host} is at {address}, which is no public address; {way_out}")
        self.host = host
        self.address = address


def target_of(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and request target."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise RefusedError(f"{shown(url)} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefusedError(f"{shown(url)} is no http:// or https:// URL")
    if parts.username is not None or parts.password is not None:
        raise RefusedError(f"{shown(url)} holds a password; give it in headers")
    if any(not " " < letter < "\x7f" for letter in url):
        raise RefusedError(f"{shown(url)} holds characters that a URL must not; quote them")
    path = parts.path or "/"
    return parts.scheme, parts.hostname, port, f"{path}?{parts.query}" if parts.query else path


def shown(url: str) -> str:
    """Return a URL for messages, without user, password and query, which may hold keys."""
    head = url.partition("?")[0].partition("#")[0][:300]
    scheme, mark, rest = head.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else head


def connected(
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
