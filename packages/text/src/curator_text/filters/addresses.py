"""Rules over where a document comes from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from curator_core import DocumentBatch, Dropped, ProcessingStage


@dataclass
class BlockedDomainsFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drops documents from listed domains and everything under them. Without a URL, one stays."""

    domains: Sequence[str]
    """Domains such as `example.com`, which stands for `www.example.com` too."""

    url_field: str = "url"
    """The column that holds the URL."""

    reason = "its domain is blocked"

    def inputs(self) -> Sequence[str]:
        return (self.url_field,)

    def check(self) -> Iterable[str]:
        if isinstance(self.domains, str):
            yield f"domains is the text {self.domains!r}, but must be a list: [{self.domains}]"

    def process(self, task: DocumentBatch) -> "list[DocumentBatch | Dropped]":
        blocked = frozenset(domain.lower().strip(".") for domain in self.domains)
        urls = task.data.column(self.url_field).to_pylist()
        return task.keep([blocked.isdisjoint(_domains_of(url)) for url in urls], self.reason)


def _domains_of(url: str | None) -> Iterator[str]:
    """`www.example.com`, `example.com`, `com`."""
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:  # such as an unclosed bracket
        host = ""
    while host:
        yield host
        host = host.partition(".")[2]
