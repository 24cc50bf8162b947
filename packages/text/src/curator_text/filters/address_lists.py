"""Address lists: read blocklists from plain, hosts and ad-blocker files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from curator_core import InputError
from curator_core.io.compression import compression_of, decompressed
from curator_core.io.filesystems import local_path, open_input
from curator_core.io.readers.lines import PIECE_BYTES, whole_lines

_LONGEST_HOST = 253
_LONGEST_AUTHORITY = 1000
_BEHIND_HOST = re.compile("[/?#]")
_NO_DOMAINS = frozenset({"localhost", "localhost.localdomain", "local", "broadcasthost"})


def lines_of(path: str) -> Iterator[str]:
    """Yield the entries of a list without comments and blank lines; remote and compressed too."""
    for piece in whole_lines(_pieces(path)):
        if piece.too_long:
            raise InputError(f"{path} is no list: one of its lines has no end")
        for line in piece.data.decode("utf-8", "replace").splitlines():
            bare = line.partition("#")[0].strip() if "://" not in line else line.strip()
            if bare and not bare.startswith(("!", "#")):
                yield bare


def _pieces(path: str) -> Iterator[bytes]:
    kind = compression_of(path)
    if kind is not None:
        yield from decompressed(lambda: open_input(path), kind)
        return
    with open_input(path) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def misplaced(option: str, given: Sequence[str]) -> Iterator[str]:
    """Describe the problems with an option that lists files or names, without reading the files."""
    if isinstance(given, str):
        yield f"{option} is the text {given!r}, but must be a list: [{given}]"
        return
    for path in given:
        plain = local_path(path)
        if option == "files" and plain is not None and not Path(plain).is_file():
            yield f"there is no file {path}"


def listed(option: str, given: Iterable[str], files: Iterable[str]) -> Iterator[str]:
    """Yield the given names, then those in the files; raise if a file has no usable name."""
    yield from given
    for path in files:
        empty = True
        for line in lines_of(path):
            for name in _names_in(line) if option == "domains" else (line,):
                empty = False
                yield name
        if empty:
            raise InputError(f"{path} names no {option}: is it the right file?")


def _names_in(line: str) -> Iterator[str]:
    """Read `0.0.0.0 a.example b.example`, `||a.example^`, `*.a.example`, or a single domain."""
    words = line.split()
    is_hosts = len(words) > 1 and not words[0].strip("0123456789abcdef.:")
    for word in words[1:] if is_hosts else words[:1]:
        name = word.removeprefix("||").partition("^")[0].removeprefix("*.")
        if "/" in name.removeprefix("http://").removeprefix("https://").rstrip("/"):
            continue  # one page, not the whole domain
        domain = host_of(name)
        if domain and domain not in _NO_DOMAINS:
            yield domain


def host_of(url: str | None) -> str:
    """Return the host of a URL in lower case, or an empty string if it has none."""
    given = url or ""
    if _has_long_host(given):
        return ""
    try:
        host = urlsplit(given if "://" in given else f"//{given}").hostname or ""
    except ValueError:  # such as an unclosed bracket
        return ""
    return _in_ascii(host.strip("."))[-_LONGEST_HOST:]


def _has_long_host(url: str) -> bool:
    """Whether the host part is too long to be valid and would be slow to parse."""
    if url.isascii():
        return False
    rest = url.partition("://")[2] if "://" in url else url
    return len(_BEHIND_HOST.split(rest, 1)[0]) > _LONGEST_AUTHORITY


def _in_ascii(host: str) -> str:
    """Convert a host to its network form: `xn--mnchen-3ya.de` for `münchen.de`."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def page_of(url: str | None) -> str:
    """Return a URL without scheme, `www.`, port, fragment and trailing slash."""
    if _has_long_host(url or ""):
        return url or ""
    try:
        parts = urlsplit(url if url and "://" in url else f"//{url or ''}")
    except ValueError:
        return url or ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host_of(url).removeprefix('www.')}{parts.path}".rstrip("/") + query
