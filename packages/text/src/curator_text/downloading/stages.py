"""Stages that download: a list of URLs becomes files, which other stages read."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from curator_core import InputError, ProcessingStage, Rejected
from curator_core.errors import is_damage
from curator_core.io.filesystems import is_url
from curator_core.io.http import Client
from curator_core.io.partitioning import parsed_size
from curator_core.io.public_addresses import target_of
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import AnyStage, CompositeStage
from curator_core.model.tasks import Empty

from curator_text.downloading.fetching import Checksum, Fetching
from curator_text.sizes import size_problems

_UNSAFE = re.compile(r"[^\w.+=-]+")


@dataclass
class UrlListing(ProcessingStage[Empty, FileGroup]):
    """Gives out URLs, a few to a task: each task is a source that a run resumes by."""

    urls: Sequence[str]
    per_task: int = 1
    limit: int | None = None
    problems: Sequence[str] = ()

    def check(self) -> Iterable[str]:
        return self.problems

    def process(self, task: Empty) -> Iterator[FileGroup]:
        left = islice(dict.fromkeys(self.urls), self.limit)
        while group := list(islice(left, self.per_task)):
            yield FileGroup([FilePart(url) for url in group])


@dataclass
class Downloading(ProcessingStage[FileGroup, FileGroup]):
    """Fetches the URLs of a task, several at a time. One that fails is set aside alone."""

    folder: str
    fetching: Fetching
    checksums: Mapping[str, str]
    parallel: int = 4

    def process(self, task: FileGroup) -> Iterator[FileGroup | Rejected]:
        with ThreadPoolExecutor(self.parallel) as pool:
            found = list(pool.map(self._fetched, task.paths))
        files = [one for one in found if isinstance(one, FilePart)]
        failed = {row: one for row, one in enumerate(found) if isinstance(one, InputError)}
        if failed and not files:
            raise min(failed.values(), key=is_damage)
        if files:
            yield FileGroup(files)
        for row, error in failed.items():
            yield Rejected(str(error), row=row, damaged=is_damage(error))

    def _fetched(self, url: str) -> FilePart | InputError:
        target = Path(self.folder) / file_name(url)
        given = self.checksums.get(url)
        try:
            self.fetching.fetch(url, target, Checksum.of(given) if given else None)
        except InputError as error:
            return error
        facts = target.stat()
        return FilePart(str(target), facts.st_size, str(facts.st_mtime_ns))


def file_name(url: str) -> str:
    """The last part of the path, made safe, behind a few digits that tell same names apart."""
    last = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    safe = _UNSAFE.sub("_", last).strip("._")[-150:]
    return f"{hashlib.sha256(url.encode()).hexdigest()[:10]}-{safe or 'file'}"


@dataclass
class Downloader(CompositeStage[Empty, FileGroup]):
    """Fetches files over http and https into a folder of this machine, and gives their paths.

    What is there already is not fetched again, and what was begun is gone on with. For a source of
    your own, derive from it and say in `listed` which URLs there are.
    """

    urls: str | list[str]
    """URLs; or the path of a file with one on each line, `URL` or `URL sha256:…`."""

    folder: str
    """Where the files go, which all workers must see."""

    checksums: dict[str, str] = field(default_factory=dict, kw_only=True)
    """What files must add up to, by URL: sha256:…, md5:…"""

    max_bytes: int | str | None = field(default="64GiB", kw_only=True)
    """Larger files are refused; null for no limit."""

    attempts: int = field(default=5, kw_only=True)
    """How often to try, waiting twice as long each time."""

    backoff_s: float = field(default=1.0, kw_only=True)
    """How long to wait after the first failure."""

    network_timeout_s: float = field(default=60.0, kw_only=True)
    """How long a server may be silent."""

    total_timeout_s: float = field(default=6 * 3600.0, kw_only=True)
    """How long one attempt may take; the next one goes on with what came."""

    parallel: int = field(default=4, kw_only=True)
    """How many files a worker fetches at a time, and how many make one task."""

    allow_private: bool = field(default=False, kw_only=True)
    """Whether hosts in this network, or on this machine, may be asked."""

    headers: dict[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    """Sent with each request. Take keys from ${secret:NAME}."""

    limit: int | None = field(default=None, kw_only=True)
    """No more than so many files, to try something out."""

    def listed(self) -> Iterable[str]:
        """The URLs, each perhaps with a blank and a checksum behind it."""
        if isinstance(self.urls, str) and not is_url(self.urls):
            try:
                return Path(self.urls).expanduser().read_text().splitlines()
            except OSError as error:
                raise InputError(
                    f"cannot read the list of URLs {self.urls}: {error.strerror}"
                ) from None
        return [self.urls] if isinstance(self.urls, str) else self.urls

    def problems(self) -> Iterator[str]:
        """What is wrong with the options."""
        for name in ("attempts", "parallel", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} is {value}, but must be 1 or more"
        for name in ("network_timeout_s", "total_timeout_s"):
            if getattr(self, name) <= 0:
                yield f"{name} is {getattr(self, name):g}, but must be more than 0"
        yield from size_problems("max_bytes", self.max_bytes, "2GiB")
        if is_url(self.folder):
            yield f"folder is {self.folder}, but must be a folder of this machine"
        yield from self._wrong_urls()

    def decompose(self) -> Sequence[AnyStage]:
        problems = tuple(self.problems())
        urls, checksums = ([], {}) if problems else self._urls()
        most = None if problems else parsed_size(self.max_bytes)
        client = Client(
            self.network_timeout_s, self.allow_private, self.headers, self.total_timeout_s
        )
        fetching = Fetching(client, most, self.attempts, self.backoff_s)
        listing = UrlListing(urls, self.parallel, self.limit, problems)
        fetch = Downloading(self.folder, fetching, {**checksums, **self.checksums}, self.parallel)
        return [listing.with_(name=f"{self.name}_urls"), fetch.with_(name=self.name)]

    def _urls(self) -> tuple[list[str], dict[str, str]]:
        found: dict[str, str] = {}
        for line in self.listed():
            url, _, checksum = line.strip().rpartition(" ")
            if not url or ":" not in checksum or "/" in checksum:
                url, checksum = line.strip(), ""
            if url:
                found[url.strip()] = checksum
        return list(found), {url: checksum for url, checksum in found.items() if checksum}

    def _wrong_urls(self) -> Iterator[str]:
        try:
            urls, checksums = self._urls()
            for url in urls:
                target_of(url)
            for text in (*checksums.values(), *self.checksums.values()):
                Checksum.of(text)
        except InputError as error:
            yield str(error)
            return
        if not urls:
            yield "urls is empty; give some, or the path of a file with one on each line"
