"""Downloading: fetch the pictures for rows of URLs.

A run remembers which parts of its list are done; run it again to resume.
"""

import http.client
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected
from curator_core.errors import InputError, PipelineError, UnavailableError, is_damaged_input
from curator_core.io.http import (
    MAX_WAIT_S,
    HttpClient,
    RefusedError,
    TemporaryError,
    loggable_url,
    raise_for_status,
)
from curator_core.io.partitioning import parse_size
from curator_core.model.arrow import with_column

from curator_image.decoding import ImageDecodeError, open_image
from curator_image.file_formats import (
    detect_format,
    is_image_extension,
    last_extension,
    usual_extension,
)
from curator_image.image_batch import EXTENSION, IMAGE, KEY, OWN_COLUMNS, SOURCE, ImageBatch
from curator_image.pixel_view import MAX_PIXELS
from curator_image.readers.base import BATCH_BYTES, BATCH_ROWS

_CHUNK_BYTES = 256 * 1024


@dataclass
class ImageDownloader(ProcessingStage[DocumentBatch, ImageBatch]):
    """Download the picture for each row's URL; failed downloads are quarantined.

    Files that are not images, or have too many bytes or pixels, are refused. Hosts in private
    networks are not contacted. Other columns are kept.
    """

    output_type: ClassVar[Any] = ImageBatch
    fans_out: ClassVar[bool | None] = True

    url_field: str = "url"
    """Column with the URLs."""

    key_field: str | None = None
    """Column with the key of each picture. By default `key` if it exists, else task and row."""

    max_bytes: int | str = "32MiB"
    """Maximum file size. Larger files are refused."""

    max_pixels: int = MAX_PIXELS
    """Maximum number of pixels according to the header. Larger pictures are refused."""

    attempts: int = 3
    """Maximum number of attempts per picture; the wait doubles each time."""

    backoff_s: float = 1.0
    """Seconds to wait after the first failure."""

    network_timeout_s: float = 20.0
    """Timeout in seconds for a silent server."""

    total_timeout_s: float = 120.0
    """Timeout in seconds for one attempt, from connecting to the last byte."""

    parallel: int = 16
    """Number of concurrent downloads per worker."""

    allow_private: bool = False
    """Allow hosts in private networks and on this machine."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Headers to send with each request. Use ${secret:NAME} for keys."""

    def check(self) -> Iterator[str]:
        for name in ("attempts", "parallel", "max_pixels"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"
        for name in ("network_timeout_s", "total_timeout_s"):
            if getattr(self, name) <= 0:
                yield f"{name} is {getattr(self, name):g}, but must be more than 0"
        try:
            parse_size(self.max_bytes)
        except PipelineError:
            yield f"max_bytes is {self.max_bytes!r}, but must be a size such as 32MiB"

    def inputs(self) -> Sequence[str]:
        return [self.url_field, *filter(None, (self.key_field,))]

    def outputs(self) -> Sequence[str]:
        return OWN_COLUMNS

    def process(self, task: DocumentBatch) -> Iterator[ImageBatch | Rejected]:
        keys = self._keys(task)
        keyed = task  # a retry gets this one, so that its pictures keep their keys
        if self.key_field is None:
            keyed = task.with_data(with_column(task.data, KEY, pa.array(keys, pa.string())))
        for start in range(0, task.num_items, BATCH_ROWS):
            rows = task.data.slice(start, BATCH_ROWS)
            for found in self._download_rows(task, rows, keys[start : start + BATCH_ROWS]):
                if isinstance(found, Rejected):
                    yield replace(found, row=start + (found.row or 0), of=keyed)
                else:
                    yield found

    def _keys(self, task: DocumentBatch) -> list[str]:
        name = self.key_field or (KEY if KEY in task.data.column_names else None)
        if name is not None:
            return [str(key) for key in task.data.column(name).to_pylist()]
        return [f"{task.task_id}-{row:06d}" for row in range(task.num_items)]

    def _download_rows(
        self, task: DocumentBatch, rows: pa.Table, keys: list[str]
    ) -> Iterator[ImageBatch | Rejected]:
        urls = rows.column(self.url_field).to_pylist()
        pending = _PendingBatch(task, rows, keys, urls)
        with ThreadPoolExecutor(self.parallel) as pool:
            try:
                for row, found in enumerate(pool.map(self._download, urls)):
                    if isinstance(found, bytes):
                        pending.add(row, found)
                    else:
                        where = f"key {keys[row]!r}"
                        yield Rejected(str(found), where, row=row, damaged=is_damaged_input(found))
                    if pending.size >= BATCH_BYTES:
                        yield pending.take()
            finally:
                pool.shutdown(cancel_futures=True)
        if pending.rows:
            yield pending.take()

    def _download(self, url: str | None) -> bytes | InputError:
        if not url:
            return InputError(f"the row has no {self.url_field}")
        for attempt in range(1, self.attempts + 1):
            try:
                return self._try_download(url)
            except InputError as error:
                return error
            except (TemporaryError, OSError, http.client.HTTPException) as error:
                if attempt == self.attempts:
                    reason = str(error) or type(error).__name__
                    return UnavailableError(f"{loggable_url(url)} cannot be downloaded: {reason}")
                wait = max(getattr(error, "wait_s", 0.0), self.backoff_s * 2 ** (attempt - 1))
                time.sleep(min(wait, MAX_WAIT_S))
        raise AssertionError("attempts is at least 1")

    def _try_download(self, url: str) -> bytes:
        client = HttpClient(
            self.network_timeout_s, self.allow_private, self.headers, self.total_timeout_s
        )
        max_bytes = parse_size(self.max_bytes) or 0
        data = bytearray()
        with client.response(url, {}) as answer:
            raise_for_status(url, answer, (200,))
            announced = answer.length
            if announced is not None and announced > max_bytes:
                raise RefusedError(
                    f"{loggable_url(url)} is larger than {max_bytes:,} bytes (max_bytes)"
                )
            while chunk := answer.read1(_CHUNK_BYTES):
                data += chunk
                if len(data) > max_bytes:
                    raise RefusedError(
                        f"{loggable_url(url)} is larger than {max_bytes:,} bytes (max_bytes)"
                    )
        if announced is not None and len(data) != announced:
            raise TemporaryError(f"received {len(data)} of {announced} bytes")
        return self._check_image(url, bytes(data))

    def _check_image(self, url: str, data: bytes) -> bytes:
        try:
            with open_image(data, self.max_pixels):
                return data
        except ImageDecodeError as error:
            raise RefusedError(f"{loggable_url(url)}: {error}") from None


class _PendingBatch:
    """Downloaded pictures that are not in a batch yet."""

    def __init__(
        self, task: DocumentBatch, table: pa.Table, keys: list[str], urls: list[str | None]
    ) -> None:
        self._task, self._table, self._keys, self._urls = task, table, keys, urls
        self.rows: list[int] = []
        self.size = 0
        self._images: list[bytes] = []

    def add(self, row: int, image: bytes) -> None:
        self.rows.append(row)
        self._images.append(image)
        self.size += len(image)

    def take(self) -> ImageBatch:
        """Return the downloaded pictures as a batch and reset."""
        urls = [self._urls[row] or "" for row in self.rows]
        extensions = [
            _find_extension(url, data) for url, data in zip(urls, self._images, strict=True)
        ]
        table = self._table.take(pa.array(self.rows, pa.int64()))
        batch = ImageBatch(table, self._task.dataset_name, dict(self._task.metadata)).with_columns(
            {
                KEY: pa.array([self._keys[row] for row in self.rows], pa.string()),
                IMAGE: pa.array(self._images, pa.binary()),
                EXTENSION: pa.array(extensions, pa.string()),
                SOURCE: pa.array([loggable_url(url) for url in urls], pa.string()),
            }
        )
        self.rows, self._images, self.size = [], [], 0
        return batch


def _find_extension(url: str, data: bytes) -> str:
    """Return the extension by content; servers may name files arbitrarily."""
    sign = detect_format(data)
    if sign:
        return usual_extension(sign)
    named = last_extension(unquote(urlsplit(url).path))
    return named if is_image_extension(named) else "img"
