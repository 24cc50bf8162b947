"""Rules over the URL of a document: lists of blocked domains, pages and words."""

import re
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage, WorkerInfo
from curator_core.io.compression import compression_of, decompress
from curator_core.io.filesystems import local_path, open_input
from curator_core.io.readers import PIECE_BYTES, whole_lines

from curator_text.text_columns import find_invalid_utf8, text_column

_LONGEST_HOST = 253
_LONGEST_AUTHORITY = 1000
_BEHIND_HOST = re.compile("[/?#]")
_NO_DOMAINS = frozenset({"localhost", "localhost.localdomain", "local", "broadcasthost"})


def _lines_of(path: str) -> Iterator[str]:
    """Yield the entries of a list without comments and blank lines; remote and compressed too."""
    for piece in whole_lines(_pieces(path)):
        if piece.too_long:
            raise InputError(f"{path} is not a list: one of its lines is too long")
        for line in piece.data.decode("utf-8", "replace").splitlines():
            bare = line.partition("#")[0].strip() if "://" not in line else line.strip()
            if bare and not bare.startswith(("!", "#")):
                yield bare


def _pieces(path: str) -> Iterator[bytes]:
    kind = compression_of(path)
    if kind is not None:
        yield from decompress(lambda: open_input(path), kind)
        return
    with open_input(path) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _list_problems(option: str, given: Sequence[str]) -> Iterator[str]:
    """Describe the problems with an option that lists files or names, without reading the files."""
    if isinstance(given, str):
        yield f"{option} is the text {given!r}, but must be a list: [{given}]"
        return
    for path in given:
        plain = local_path(path)
        if option == "files" and plain is not None and not Path(plain).is_file():
            yield f"no such file: {path}"


def _read_names(option: str, given: Iterable[str], files: Iterable[str]) -> Iterator[str]:
    """Yield the given names, then those in the files; raise if a file has no usable name."""
    yield from given
    for path in files:
        empty = True
        for line in _lines_of(path):
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


class HashedSet:
    """A set of names that stores 64-bit hashes only.

    With 10 million names, about one lookup in a million million is wrong.
    """

    def __init__(self, names: Iterable[str]) -> None:
        hashes = array("Q", map(_hash, names))
        column = pa.Array.from_buffers(pa.uint64(), len(hashes), [None, pa.py_buffer(hashes)])
        self._sorted = column.take(pc.array_sort_indices(column))
        # A Python view of the same memory: a search creates objects only for the values it
        # compares.
        self._view = memoryview(self._sorted.buffers()[1]).cast("Q")[: len(hashes)]

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, name: str) -> bool:
        wanted = _hash(name)
        place = bisect_left(self._view, wanted)
        return place < len(self._view) and self._view[place] == wanted


def _hash(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


_WORDS = re.compile(r"[^\W_]+")


class _ListFilter(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Drops documents by a list, which each worker reads once."""

    files: Sequence[str]
    url_field: str
    reason: str
    _option: str
    _blocked: "HashedSet | frozenset[str] | None" = None

    @abstractmethod
    def blocks(self, url: str) -> bool:
        """Whether the list blocks this URL."""

    @abstractmethod
    def _collect(self, names: Iterable[str]) -> "HashedSet | frozenset[str]":
        """Build the lookup structure of the list."""

    @property
    def blocked(self) -> "HashedSet | frozenset[str]":
        if self._blocked is None:
            self._blocked = self._collect(_read_names(self._option, self._given, self.files))
        return self._blocked

    @property
    def _given(self) -> Sequence[str]:
        return list(getattr(self, self._option))

    def inputs(self) -> Sequence[str]:
        return (self.url_field,)

    def check(self) -> Iterable[str]:
        yield from _list_problems(self._option, getattr(self, self._option))
        yield from _list_problems("files", self.files)
        if not getattr(self, self._option) and not self.files:
            yield f"neither {self._option} nor files are given, so nothing would be dropped"

    def setup(self, worker: WorkerInfo) -> None:
        self._blocked = None
        _ = self.blocked

    def teardown(self) -> None:
        self._blocked = None

    def process(self, task: DocumentBatch) -> "list[DocumentBatch | Dropped]":
        column = text_column(task.data, self.url_field)
        damage = find_invalid_utf8(column)  # invalid UTF-8 cannot be a URL
        urls = [None if row in damage else value.as_py() for row, value in enumerate(column)]
        return task.keep([not url or not self.blocks(url) for url in urls], self.reason)


@dataclass
class BlockedDomainsFilter(_ListFilter):
    """Drops documents from blocked domains and their subdomains.

    Documents without a URL are kept.
    """

    domains: Sequence[str] = ()
    """Domains such as `example.com`, which also blocks `www.example.com`."""

    url_field: str = "url"
    """The column that holds the URL."""

    files: Sequence[str] = ()
    """Files with one domain per line, plain or in the format of hosts files and ad blockers,
    optionally compressed. Lines with a path name pages; use BlockedUrlsFilter for these."""

    reason = "its domain is blocked"
    _option = "domains"

    def _collect(self, names: Iterable[str]) -> HashedSet:
        return HashedSet(host_of(name) for name in names)

    def blocks(self, url: str) -> bool:
        return any(domain in self.blocked for domain in _domains_of(url))


def _domains_of(url: str) -> Iterator[str]:
    """Yield `www.example.com`, `example.com`, `com`."""
    host = host_of(url)
    while host:
        yield host
        host = host.partition(".")[2]


@dataclass
class BlockedUrlsFilter(_ListFilter):
    """Drops documents from blocked pages.

    Scheme, `www.`, port and fragment are ignored.
    """

    urls: Sequence[str] = ()
    """URLs such as `example.com/a/page?id=1`."""

    url_field: str = "url"
    """The column that holds the URL."""

    files: Sequence[str] = ()
    """Files with one URL per line, optionally compressed."""

    reason = "its URL is blocked"
    _option = "urls"

    def _collect(self, names: Iterable[str]) -> HashedSet:
        return HashedSet(map(page_of, names))

    def blocks(self, url: str) -> bool:
        return page_of(url) in self.blocked


@dataclass
class UrlWordsFilter(_ListFilter):
    """Drops documents whose URL contains words from a list, such as gambling terms."""

    words: Sequence[str] = ()
    """The blocked words. A URL is split into words at all characters but letters and digits."""

    url_field: str = "url"
    """The column that holds the URL."""

    files: Sequence[str] = ()
    """Files with one word per line, optionally compressed."""

    min_words: int = 1
    """Minimum number of different blocked words in the URL."""

    _option = "words"

    @property
    def reason(self) -> str:  # type: ignore[override]
        return f"its URL has {self.min_words} or more blocked words"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.min_words < 1:
            yield f"min_words is {self.min_words}, but must be 1 or more"

    def _collect(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name.lower() for name in names)

    def blocks(self, url: str) -> bool:
        found = {word for word in _WORDS.findall(url.lower()) if word in self.blocked}
        return len(found) >= self.min_words
