"""Downloader: turn a list of URLs into files for other stages to read."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from curator_core import (
    AnyStage,
    CompositeStage,
    Empty,
    FileGroup,
    FilePart,
    InputError,
    ProcessingStage,
    Rejected,
)
from curator_core.errors import is_damaged_input
from curator_core.io.filesystems import is_url
from curator_core.io.http import HttpClient, parse_url
from curator_core.io.partitioning import parse_size

from curator_text.download.fetch import Checksum, Fetcher
from curator_text.option_checks import size_problems

_UNSAFE = re.compile(r"[^\w.+=-]+")


@dataclass
class UrlListing(ProcessingStage[Empty, FileGroup]):
    """Emits URLs, a few per task. Each task is a source for resuming."""

    urls: Sequence[str]
    per_task: int = 1
    limit: int | None = None
    problems: Sequence[str] = ()

    def check(self) -> Iterable[str]:
        return self.problems

    def process(self, task: Empty) -> Iterator[FileGroup]:
        remaining = islice(dict.fromkeys(self.urls), self.limit)
        while group := list(islice(remaining, self.per_task)):
            yield FileGroup([FilePart(url) for url in group])


@dataclass
class DownloadStage(ProcessingStage[FileGroup, FileGroup]):
    """Downloads the URLs of a task in parallel; quarantines each failed URL alone."""

    folder: str
    fetcher: Fetcher
    checksums: Mapping[str, str]
    parallel: int = 4

    def process(self, task: FileGroup) -> Iterator[FileGroup | Rejected]:
        with ThreadPoolExecutor(self.parallel) as pool:
            results = list(pool.map(self._fetch, task.paths))
        files = [one for one in results if isinstance(one, FilePart)]
        failed = {row: one for row, one in enumerate(results) if isinstance(one, InputError)}
        if failed and not files:
            raise min(failed.values(), key=is_damaged_input)
        if files:
            yield FileGroup(files)
        for row, error in failed.items():
            yield Rejected(str(error), row=row, damaged=is_damaged_input(error))

    def _fetch(self, url: str) -> FilePart | InputError:
        target = Path(self.folder) / file_name(url)
        checksum = self.checksums.get(url)
        try:
            self.fetcher.fetch(url, target, Checksum.of(checksum) if checksum else None)
        except InputError as error:
            return error
        stat = target.stat()
        return FilePart(str(target), stat.st_size, str(stat.st_mtime_ns))


def file_name(url: str) -> str:
    """Return the last path component, made safe, with a hash prefix that makes names unique."""
    last = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    safe = _UNSAFE.sub("_", last).strip("._")[-150:]
    return f"{hashlib.sha256(url.encode()).hexdigest()[:10]}-{safe or 'file'}"


@dataclass
class Downloader(CompositeStage[Empty, FileGroup]):
    """Downloads files over http and https into a local folder, and emits their paths.

    Files that already exist are not downloaded again, and partial downloads are resumed. For a
    custom source, subclass this stage and return its URLs from `list_urls`.
    """

    urls: str | list[str]
    """URLs, or the path of a file with one per line: `URL` or `URL sha256:…`."""

    folder: str
    """Folder for the files. All workers must have access to it."""

    checksums: dict[str, str] = field(default_factory=dict, kw_only=True)
    """Expected checksums by URL, such as sha256:… or md5:…"""

    max_bytes: int | str | None = field(default="64GiB", kw_only=True)
    """Larger files are refused; null for no limit."""

    attempts: int = field(default=5, kw_only=True)
    """Maximum number of attempts per file. The wait doubles after each failure."""

    backoff_s: float = field(default=1.0, kw_only=True)
    """Seconds to wait after the first failure."""

    network_timeout_s: float = field(default=60.0, kw_only=True)
    """Seconds without data from the server before an attempt fails."""

    total_timeout_s: float = field(default=6 * 3600.0, kw_only=True)
    """Maximum seconds per attempt. The next attempt resumes the download."""

    parallel: int = field(default=4, kw_only=True)
    """Number of files that a worker downloads at a time, and number of files per task."""

    allow_private: bool = field(default=False, kw_only=True)
    """Allow downloads from private networks and from this machine."""

    headers: dict[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    """Headers to send with each request. Take keys from ${secret:NAME}."""

    limit: int | None = field(default=None, kw_only=True)
    """Maximum number of files, for trying things out."""

    def list_urls(self) -> Iterable[str]:
        """Return the URLs, each optionally followed by a space and a checksum."""
        if isinstance(self.urls, str) and not is_url(self.urls):
            try:
                return Path(self.urls).expanduser().read_text().splitlines()
            except OSError as error:
                raise InputError(
                    f"cannot read the list of URLs {self.urls}: {error.strerror}"
                ) from None
        return [self.urls] if isinstance(self.urls, str) else self.urls

    def problems(self) -> Iterator[str]:
        """Yield the problems with the options."""
        for name in ("attempts", "parallel", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} is {value}, but must be 1 or more"
        for name in ("network_timeout_s", "total_timeout_s"):
            if getattr(self, name) <= 0:
                yield f"{name} is {getattr(self, name):g}, but must be more than 0"
        yield from size_problems("max_bytes", self.max_bytes, "2GiB")
        if is_url(self.folder):
            yield f"folder is {self.folder}, but must be a local folder"
        yield from self._url_problems()

    def decompose(self) -> Sequence[AnyStage]:
        problems = tuple(self.problems())
        urls, checksums = ([], {}) if problems else self._urls()
        max_bytes = None if problems else parse_size(self.max_bytes)
        client = HttpClient(
            self.network_timeout_s, self.allow_private, self.headers, self.total_timeout_s
        )
        fetcher = Fetcher(client, max_bytes, self.attempts, self.backoff_s)
        listing = UrlListing(urls, self.parallel, self.limit, problems)
        fetch = DownloadStage(self.folder, fetcher, {**checksums, **self.checksums}, self.parallel)
        return [listing.with_(name=f"{self.name}_urls"), fetch.with_(name=self.name)]

    def _urls(self) -> tuple[list[str], dict[str, str]]:
        found: dict[str, str] = {}
        for line in self.list_urls():
            url, _, checksum = line.strip().rpartition(" ")
            if not url or ":" not in checksum or "/" in checksum:
                url, checksum = line.strip(), ""
            if url:
                found[url.strip()] = checksum
        return list(found), {url: checksum for url, checksum in found.items() if checksum}

    def _url_problems(self) -> Iterator[str]:
        try:
            urls, checksums = self._urls()
            for url in urls:
                parse_url(url)
            for text in (*checksums.values(), *self.checksums.values()):
                Checksum.of(text)
        except InputError as error:
            yield str(error)
            return
        if not urls:
            yield "urls is empty; give URLs, or the path of a file with one per line"
