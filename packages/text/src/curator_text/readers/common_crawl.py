"""Common Crawl: read the archives of a crawl in place, or download them first."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    Empty,
    FileGroup,
    InputError,
    ProcessingStage,
)
from curator_core.io.filesystems import StorageOptions, join, open_input
from curator_core.io.partitioning import FilePartitioning

from curator_text.download.downloader import Downloader
from curator_text.readers.warc import DEFAULT_RECORD_BYTES, WarcReader, WetReader

HTTPS = "https://data.commoncrawl.org"
_MAX_LIST_BYTES = 64 * 1024 * 1024


@dataclass
class CommonCrawlReader(CompositeStage[Empty, DocumentBatch]):
    """Reads the archives listed in a crawl's warc.paths.gz or wet.paths.gz.

    With `download_to`, each archive is downloaded completely before it is read. Otherwise many
    workers read parts of an archive in place: from `prefix: s3://commoncrawl` with s3fs, or from a
    folder.
    """

    paths: str
    """The list of archives: a file or URL, optionally gzipped, with one path per line."""

    prefix: str = HTTPS
    """Prefix for each path."""

    download_to: str | None = None
    """Folder for downloaded archives. All workers must have access to it."""

    kind: str = "warc"
    """`warc` for raw server responses, `wet` for extracted text."""

    limit: int | None = None
    """Maximum number of archives. A crawl has tens of thousands, about 1 GB each."""

    content_types: Sequence[str] | None = field(default=("text/html",), kw_only=True)
    """Content types to keep, as declared by the server; null keeps all. Ignored for `wet`, which is
    all text."""

    max_record_bytes: int | str = field(default=DEFAULT_RECORD_BYTES, kw_only=True)
    """Records larger than this, compressed or decompressed, are dropped."""

    blocksize: int | str | None = field(default=None, kw_only=True)
    """Approximate bytes of an archive per task, for archives read in place."""

    allow_private: bool = field(default=False, kw_only=True)
    """Allow downloads from hosts in private networks."""

    storage_options: StorageOptions | None = field(default=None, kw_only=True, repr=False)
    """fsspec options for the list and the archives. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        problem, urls = None, ["-"]
        try:
            urls = self._list_urls()
        except InputError as error:
            problem = str(error)
        reader = self._reader(urls)
        listing, reading = reader.decompose()
        if problem is not None:
            return [_UnreadableList(problem).with_(name=f"{self.name}_files"), reading]
        if self.download_to is None:
            return [listing, reading]
        reading = reader.reading_stage(FilePartitioning(urls)).with_(name=reader.name)
        fetch = Downloader(urls, self.download_to, parallel=1, allow_private=self.allow_private)
        return [*fetch.decompose(), reading]

    def _reader(self, urls: list[str]) -> WarcReader | WetReader:
        options: dict[str, Any] = {
            "blocksize": self.blocksize,
            "storage_options": self.storage_options,
            "max_record_bytes": self.max_record_bytes,
        }
        if self.kind == "wet":
            return WetReader(urls, **options)
        return WarcReader(urls, content_types=self.content_types, **options)

    def _list_urls(self) -> list[str]:
        if self.kind not in ("warc", "wet"):
            raise InputError(f"kind is {self.kind!r}, but must be warc or wet")
        with open_input(self.paths, self.storage_options) as file:
            data = file.read(_MAX_LIST_BYTES)
        if data.startswith(b"\x1f\x8b"):
            data = _decompress(self.paths, data)
        lines = data.decode("utf-8", "replace").split()
        if not lines:
            raise InputError(f"{self.paths} does not list any archives")
        return [join(self.prefix, line.lstrip("/")) for line in lines][: self.limit]


def _decompress(path: str, data: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(data, _MAX_LIST_BYTES)
    except zlib.error as error:
        raise InputError(f"cannot read {path}: {error}") from None


class _UnreadableList(ProcessingStage[Empty, FileGroup]):
    """Placeholder for archives that cannot be listed; reports the reason in `check`."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def check(self) -> Iterator[str]:
        yield self._problem

    def process(self, task: Empty) -> FileGroup:
        raise InputError(self._problem)
