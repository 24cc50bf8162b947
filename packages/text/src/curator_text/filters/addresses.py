"""Rules over the URL of a document. Documents without a URL are kept."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from curator_core import DocumentBatch, Dropped, ProcessingStage, WorkerInfo

from curator_text.filters.address_lists import host_of, listed, misplaced, page_of
from curator_text.filters.hashed_sets import HashedSet
from curator_text.text_columns import damage_of, text_column

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
            self._blocked = self._collect(listed(self._option, self._given, self.files))
        return self._blocked

    @property
    def _given(self) -> Sequence[str]:
        return list(getattr(self, self._option))

    def inputs(self) -> Sequence[str]:
        return (self.url_field,)

    def check(self) -> Iterable[str]:
        yield from misplaced(self._option, getattr(self, self._option))
        yield from misplaced("files", self.files)
        if not getattr(self, self._option) and not self.files:
            yield f"neither {self._option} nor files are given, so nothing would be dropped"

    def setup(self, worker: WorkerInfo) -> None:
        self._blocked = None
        _ = self.blocked

    def teardown(self) -> None:
        self._blocked = None

    def process(self, task: DocumentBatch) -> "list[DocumentBatch | Dropped]":
        column = text_column(task.data, self.url_field)
        damage = damage_of(column)  # invalid UTF-8 cannot be a URL
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
