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
for equal views share pixels within a call (see `views.WORKING`); pixels are never sent to another
process or written to disk. To drop pictures, return `batch.keep(mask, reason)`. To change them, use
`with_images`, which discards cached pixels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from curator_core.errors import is_damage
from curator_core.model.documents import DocumentBatch
from curator_core.model.tasks import Dropped, Rejected

from curator_image.decoding import Encoded, Pixels, UndecodableError, decode
from curator_image.pixels import PixelStore, Seen
from curator_image.sidecars import sidecars_in, told
from curator_image.views import View

if TYPE_CHECKING:
    import pyarrow as pa

KEY, IMAGE, EXTENSION, SOURCE = "key", "image", "extension", "source"
OWN_COLUMNS = (KEY, IMAGE, EXTENSION, SOURCE)

_PIXELS = "curator_image.pixels"

T = TypeVar("T")


@dataclass(frozen=True)
class Measured(Generic[T]):
    """The decodable pictures with a value for each, and the rejected ones."""

    batch: "ImageBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class ImageBatch(DocumentBatch):
    """A batch of pictures, one per row."""

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

    @property
    def sidecars(self) -> dict[str, str]:
        """Sidecar columns, with the extensions of their files."""
        return sidecars_in(self.data.schema)

    def place(self, row: int) -> str:
        """Return the shard, if any, and the key of a row, for messages."""
        key = self.data.column(KEY)[row].as_py()
        source = self.data.column(SOURCE)[row].as_py() if SOURCE in self.columns() else None
        return f"{source} key {key!r}" if source else f"key {key!r}"

    # Pixels

    def pictures(self, view: View) -> Iterator[Seen]:
        """Yield the pixels of each row, decoded on demand, or the error."""
        store = self._store()
        for row, data in enumerate(self.encoded):
            seen = store.get(view, row)
            if seen is None:
                seen = _seen(data, view)
                store.add(view, row, seen)
            yield seen

    def measure(self, view: View, function: Callable[[Pixels], T]) -> Measured[T]:
        """Apply `function` to the pixels of each picture; reject those that cannot be decoded."""
        values: list[T] = []
        failed: dict[int, UndecodableError] = {}
        for row, seen in enumerate(self.pictures(view)):
            if isinstance(seen, UndecodableError):
                failed[row] = seen
            else:
                values.append(function(seen))
        batch, rejected = self.without(failed)
        return Measured(batch, values, rejected)

    def decoded(self, view: View) -> Measured[Pixels]:
        """Return the pixels of all pictures at once. Use it for small views only."""
        return self.measure(view, lambda pixels: pixels)

    def without(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """Return the batch without some rows, and a rejection with the reason for each of them."""
        if not failed:
            return self, []
        rejected = [
            Rejected(str(error), self.place(row), row=row, of=self, damaged=is_damage(error))
            for row, error in failed.items()
        ]
        return self.take([row for row in range(self.num_items) if row not in failed]), rejected

    def _store(self) -> PixelStore:
        known = self.derived.get(_PIXELS)
        if known is None or known.rows != self.num_items:
            known = self.derived[_PIXELS] = PixelStore(self.num_items)
        store: PixelStore = known
        return store

    # Other rows, other columns

    def take(self, rows: Sequence[int]) -> Self:
        """Select rows in any order, with their decoded pixels."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (known := self.derived.get(_PIXELS)) is not None:
            taken.derived[_PIXELS] = known.taken(rows)
        return taken

    def filter(self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]") -> Self:
        """Select the rows where `mask` is true, with their decoded pixels."""
        from curator_core.model.arrow import flags_in

        return self.take([row for row, wanted in enumerate(flags_in(mask)) if wanted])

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """Return the rows where `mask` is true and a note of the dropped ones, as filters do."""
        from curator_core.model.arrow import flags_in

        flags = flags_in(mask)
        missing = flags.count(False)
        if not missing:
            return [self]
        kept, dropped = self.filter(flags), [not wanted for wanted in flags]
        bare = self.with_data(self.data)  # dropped records must not keep pixels in memory
        return [kept, Dropped(reason, missing, lambda: bare.filter(dropped))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Add or replace columns. Cached pixels are kept unless `image` changes."""
        from curator_core.model.arrow import with_columns

        changed = self.with_data(with_columns(self.data, columns))
        if IMAGE not in columns and _PIXELS in self.derived:
            changed.derived[_PIXELS] = self.derived[_PIXELS]
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
        metadata = {**(self.data.schema.metadata or {}), **told(sidecars)}
        return self.with_data(self.data.replace_schema_metadata(metadata))


def _seen(data: Encoded, view: View) -> Seen:
    try:
        return decode(data, view)
    except UndecodableError as error:
        return error.bare()
