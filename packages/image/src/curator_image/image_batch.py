"""Batches of pictures: one row each, with the encoded bytes and everything known about them.

Columns that every batch has:

    key        text: name of the sample in its shard, including folders
    image      binary: the encoded bytes, unchanged; tables never hold pixels
    extension  text: extension of the image file, such as `jpg`, without the first dot
    source     text: the file and the position in it, for messages

In addition there is a column for each sidecar file (`txt`, `json`, `cls` …: text or bytes), and
the columns that stages add. An `ImageBatch` is a `DocumentBatch`: column filters and modifiers
work on it and keep its pixels. Picture stages take and return `ImageBatch`, and access pixels with

    measured = batch.measure(WORKING, my_function)   # called with the pixels of each picture
    yield measured.batch.with_columns({"blur": measured.values})
    yield from measured.rejected                     # pictures that cannot be decoded

or, if they need many pictures at once, with `batch.decoded(view)`, which returns a list of pixels.
`batch.pictures(view)` iterates over the pictures and leaves errors to the caller. Stages that ask
for equal views share pixels within a call (see `pixel_view.WORKING`); pixels are never sent to
another process or written to disk. To drop pictures, return `batch.keep(mask, reason)`. To change
them, use `with_images`, which discards cached pixels.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from curator_core import DocumentBatch, Dropped, Rejected
from curator_core.errors import is_damaged_input

from curator_image.decoding import Encoded, ImageDecodeError, Pixels, decode
from curator_image.pixel_view import View
from curator_image.thumbnails import describe_header, encode_thumbnail

if TYPE_CHECKING:
    import pyarrow as pa

KEY, IMAGE, EXTENSION, SOURCE = "key", "image", "extension", "source"
OWN_COLUMNS = (KEY, IMAGE, EXTENSION, SOURCE)

_CACHE = "curator_image.image_batch"

T = TypeVar("T")


PixelsOrError: TypeAlias = Pixels | ImageDecodeError
"""The pixels of a picture, or the error that prevented decoding."""

MAX_CACHED_BYTES = 256 * 1024 * 1024
"""Maximum bytes to cache per batch; further pictures are decoded again when needed."""


class PixelCache:
    """Decoded pictures of a batch by view and row, up to a number of bytes."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.size = 0
        self._pixels: dict[View, list[PixelsOrError | None]] = {}

    def get(self, view: View, row: int) -> PixelsOrError | None:
        known = self._pixels.get(view)
        return None if known is None else known[row]

    def add(self, view: View, row: int, seen: PixelsOrError) -> None:
        size = 0 if isinstance(seen, ImageDecodeError) else seen.nbytes
        if self.size + size > MAX_CACHED_BYTES:
            return
        self.size += size
        self._pixels.setdefault(view, [None] * self.rows)[row] = seen

    def take(self, rows: Sequence[int]) -> "PixelCache":
        """Return the cache for a batch made of some of the rows."""
        selected = PixelCache(len(rows))
        for view, known in self._pixels.items():
            for number, row in enumerate(rows):
                if (seen := known[row]) is not None:
                    selected.add(view, number, seen)
        return selected

    def views(self) -> Iterator[View]:
        yield from self._pixels


@dataclass(frozen=True)
class MeasuredBatch(Generic[T]):
    """The decodable pictures with a value for each, and the rejected ones."""

    batch: "ImageBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class ImageBatch(DocumentBatch):
    """A batch of pictures, one per row."""

    item_name = "image"

    @property
    def keys(self) -> list[str]:
        return [str(key) for key in self.data.column(KEY).to_pylist()]

    @property
    def encoded(self) -> Iterator[Encoded]:
        """The encoded bytes of each picture, without a copy; empty for null."""
        for chunk in self.data.column(IMAGE).chunks:
            for value in chunk:
                buffer = value.as_buffer()
                yield b"" if buffer is None else memoryview(buffer)

    def describe_items(self) -> list[dict[str, Any]]:
        """Return the columns, with the size and format of each picture instead of its bytes."""
        others = self.data.drop_columns([IMAGE]).to_pylist()
        return [
            {**row, **describe_header(data)} for row, data in zip(others, self.encoded, strict=True)
        ]

    def thumbnail(self, item: int) -> bytes | None:
        data = next(islice(self.encoded, item, None))
        try:
            return encode_thumbnail(data)
        except ImageDecodeError:
            return None

    @property
    def sidecars(self) -> dict[str, str]:
        """Sidecar columns, with the extensions of their files."""
        return read_sidecars(self.data.schema)

    def location(self, row: int) -> str:
        """Return the shard, if any, and the key of a row, for messages."""
        key = self.data.column(KEY)[row].as_py()
        source = self.data.column(SOURCE)[row].as_py() if SOURCE in self.columns() else None
        return f"{source} key {key!r}" if source else f"key {key!r}"

    # Pixels

    def pictures(self, view: View) -> Iterator[PixelsOrError]:
        """Yield the pixels of each row, decoded on demand, or the error."""
        cache = self._cache()
        for row, data in enumerate(self.encoded):
            seen = cache.get(view, row)
            if seen is None:
                seen = _decode_or_error(data, view)
                cache.add(view, row, seen)
            yield seen

    def measure(self, view: View, function: Callable[[Pixels], T]) -> MeasuredBatch[T]:
        """Apply `function` to the pixels of each picture; reject those that cannot be decoded."""
        values: list[T] = []
        failed: dict[int, ImageDecodeError] = {}
        for row, seen in enumerate(self.pictures(view)):
            if isinstance(seen, ImageDecodeError):
                failed[row] = seen
            else:
                values.append(function(seen))
        batch, rejected = self.without(failed)
        return MeasuredBatch(batch, values, rejected)

    def decoded(self, view: View) -> MeasuredBatch[Pixels]:
        """Return the pixels of all pictures at once. Use it for small views only."""
        return self.measure(view, lambda pixels: pixels)

    def without(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """Return the batch without some rows, and a rejection with the reason for each of them."""
        if not failed:
            return self, []
        rejected = [
            Rejected(
                str(error), self.location(row), row=row, of=self, damaged=is_damaged_input(error)
            )
            for row, error in failed.items()
        ]
        return self.take([row for row in range(self.num_items) if row not in failed]), rejected

    def _cache(self) -> PixelCache:
        known = self.derived.get(_CACHE)
        if known is None or known.rows != self.num_items:
            known = self.derived[_CACHE] = PixelCache(self.num_items)
        cache: PixelCache = known
        return cache

    # Other rows, other columns

    def take(self, rows: Sequence[int]) -> Self:
        """Select rows in any order, with their decoded pixels."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (known := self.derived.get(_CACHE)) is not None:
            taken.derived[_CACHE] = known.take(rows)
        return taken

    def filter(self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]") -> Self:
        """Select the rows where `mask` is true, with their decoded pixels."""
        from curator_core.model.arrow import mask_to_list

        return self.take([row for row, flag in enumerate(mask_to_list(mask)) if flag])

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """Return the rows where `mask` is true and a note of the dropped ones, as filters do."""
        from curator_core.model.arrow import mask_to_list

        flags = mask_to_list(mask)
        missing = flags.count(False)
        if not missing:
            return [self]
        kept, dropped = self.filter(flags), [not flag for flag in flags]
        bare = self.with_data(self.data)  # dropped records must not keep pixels in memory
        return [kept, Dropped(reason, missing, lambda: bare.filter(dropped))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Add or replace columns. Cached pixels are kept unless `image` changes."""
        from curator_core.model.arrow import with_columns

        changed = self.with_data(with_columns(self.data, columns))
        if IMAGE not in columns and _CACHE in self.derived:
            changed.derived[_CACHE] = self.derived[_CACHE]
        return changed

    def with_images(self, images: Sequence[bytes], extensions: Sequence[str]) -> Self:
        """Replace the pictures of all rows, for example with resized ones, and their extensions."""
        import pyarrow as pa

        return self.with_columns(
            {
                IMAGE: pa.array(images, pa.binary()),
                EXTENSION: pa.array(extensions, pa.string()),
            }
        )

    def with_sidecars(self, sidecars: Mapping[str, str]) -> Self:
        """Set which columns are sidecar files, and their extensions."""
        metadata = {**(self.data.schema.metadata or {}), **sidecar_metadata(sidecars)}
        return self.with_data(self.data.replace_schema_metadata(metadata))


def _decode_or_error(data: Encoded, view: View) -> PixelsOrError:
    try:
        return decode(data, view)
    except ImageDecodeError as error:
        return error.without_traceback()


_SIDECARS = b"curator:sidecars"


def read_sidecars(schema: "pa.Schema") -> dict[str, str]:
    """Return the sidecar columns with the extensions of their files."""
    encoded = (schema.metadata or {}).get(_SIDECARS)
    found: dict[str, str] = json.loads(encoded) if encoded else {}
    return {name: extension for name, extension in found.items() if name in schema.names}


def sidecar_metadata(sidecars: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the sidecar columns as schema metadata."""
    return {_SIDECARS: json.dumps(dict(sidecars)).encode()}
