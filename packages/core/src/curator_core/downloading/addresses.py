"""Addresses: which hosts may be asked for files.

A list of URLs, or a redirect in an answer, may name machines that only this one can reach. So names
are resolved here, every address that they stand for is looked at, and the connection goes to just
the address that was looked at: a second answer of the name server changes nothing.
"""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from curator_core.errors import InputError


class RefusedError(InputError):
    """A place that must not be asked, however often one tries."""


def target_of(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and what to ask for."""
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
    """A URL for a message, without what may be a key: user, password and query."""
    head = url.partition("?")[0].partition("#")[0][:300]
    scheme, mark, rest = head.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else head


def connected(host: str, port: int, timeout_s: float, allow_private: bool) -> socket.socket:
    """A connection to a host that may be asked."""
    last: OSError | None = None
    for address in _addresses(host, port, allow_private):
        try:
            return socket.create_connection((address, port), timeout_s)
        except OSError as error:
            last = error
    raise last or OSError(f"{host} has no address")


def _addresses(host: str, port: int, allow_private: bool) -> Iterator[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:  # one private address among public ones is a trap
        if not allow_private and not is_public(address):
            raise RefusedError(
                f"{host} is at {address}, which is no public address; "
                "set allow_private if it is meant"
            )
    yield from addresses


def is_public(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _inner(found)
    return found.is_global and not found.is_multicast and (inner is None or is_public(str(inner)))


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.packed.startswith(bytes.fromhex("0064ff9b")):
        return IPv4Address(address.packed[-4:])
    return None
