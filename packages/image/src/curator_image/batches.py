"""Batches of pictures: one row each, the encoded bytes beside everything known of them.

Columns that every batch has:

    key        text: what names the sample in its shard, folders included
    image      binary: the bytes as they were found; pixels never stand in a table
    extension  text: what the image's name ended in, such as `jpg`, without the first dot
    source     text: the file, and where in it, for messages

Then a column for each sidecar file (`txt`, `json`, `cls` …: text, or bytes), and whatever stages
add. An `ImageBatch` is a `DocumentBatch`: filters and modifiers of columns work on it and give it
back with its pixels. Stages for pictures take and give `ImageBatch`, and look at pixels with

    measured = batch.measure(WORKING, my_function)   # of one picture's pixels each
    yield measured.batch.with_columns({"blur": measured.values})
    yield from measured.rejected                     # what cannot be decoded, set aside alone

or, where they need many pictures at once, `batch.decoded(view)`: the same with a list of pixels.
`batch.pictures(view)` goes through them one by one and leaves the bad ones to you. Stages of one
call that ask for equal views share the pixels (see `views.WORKING`); these never go to another
process and never to disk. To drop pictures, give back `batch.keep(mask, reason)`; to change one,
`with_images`, which forgets the pixels of the old ones.
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
    """The pictures that could be decoded, a value for each, and the others."""

    batch: "ImageBatch"
    values: list[T]
    rejected: list[Rejected]


@dataclass
class ImageBatch(DocumentBatch):
    """Pictures, one row each."""

    @property
    def keys(self) -> list[str]:
        return [str(key) for key in self.data.column(KEY).to_pylist()]

    @property
    def encoded(self) -> Iterator[Encoded]:
        """The bytes of each picture, not copied; empty where there are none."""
        for chunk in self.data.column(IMAGE).chunks:
            for value in chunk:
                buffer = value.as_buffer()
                yield b"" if buffer is None else memoryview(buffer)

    @property
    def sidecars(self) -> dict[str, str]:
        """The columns that were files beside the image, and the endings of these files."""
        return sidecars_in(self.data.schema)

    def place(self, row: int) -> str:
        """The sample of a row, for messages: its shard, where it is there, and its key."""
        key = self.data.column(KEY)[row].as_py()
        source = self.data.column(SOURCE)[row].as_py() if SOURCE in self.columns() else None
        return f"{source} key {key!r}" if source else f"key {key!r}"

    # Pixels

    def pictures(self, view: View) -> Iterator[Seen]:
        """The pixels of each row, decoded when they are asked for, or what is wrong with it."""
        store = self._store()
        for row, data in enumerate(self.encoded):
            seen = store.get(view, row)
            if seen is None:
                seen = _seen(data, view)
                store.add(view, row, seen)
            yield seen

    def measure(self, view: View, function: Callable[[Pixels], T]) -> Measured[T]:
        """What `function` says of each picture; those that cannot be decoded are set aside."""
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
        """The pixels of all pictures at once: for views that are small."""
        return self.measure(view, lambda pixels: pixels)

    def without(self, failed: Mapping[int, Exception]) -> tuple[Self, list[Rejected]]:
        """The batch without some rows, and notes that set each of these aside with its reason."""
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
        """Some rows in an order of your own, with what was decoded of them."""
        import pyarrow as pa

        taken = self.with_data(self.data.take(pa.array(rows, pa.int64())))
        if (known := self.derived.get(_PIXELS)) is not None:
            taken.derived[_PIXELS] = known.taken(rows)
        return taken

    def filter(self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]") -> Self:
        """The rows where `mask` is true, with what was decoded of them."""
        from curator_core.model.arrow import flags_in

        return self.take([row for row, wanted in enumerate(flags_in(mask)) if wanted])

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """The rows where `mask` is true, and a note of the others: what a filter returns."""
        from curator_core.model.arrow import flags_in

        flags = flags_in(mask)
        missing = flags.count(False)
        if not missing:
            return [self]
        kept, dropped = self.filter(flags), [not wanted for wanted in flags]
        bare = self.with_data(self.data)  # whoever keeps dropped records keeps no pixels
        return [kept, Dropped(reason, missing, lambda: bare.filter(dropped))]

    def with_columns(self, columns: "Mapping[str, pa.Array | Sequence[Any]]") -> Self:
        """Columns added or replaced, row by row. Pixels stay known unless `image` changes."""
        from curator_core.model.arrow import with_columns

        changed = self.with_data(with_columns(self.data, columns))
        if IMAGE not in columns and _PIXELS in self.derived:
            changed.derived[_PIXELS] = self.derived[_PIXELS]
        return changed

    def with_images(self, images: Sequence[bytes], extensions: Sequence[str]) -> Self:
        """Other pictures in the same rows, such as resized ones, and what their names end in."""
        import pyarrow as pa

        return self.with_columns(
            {
                IMAGE: pa.array(images, pa.binary()),
                EXTENSION: pa.array(extensions, pa.string()),
            }
        )

    def with_sidecars(self, sidecars: Mapping[str, str]) -> Self:
        """The batch that knows which of its columns are files, and how their names end."""
        metadata = {**(self.data.schema.metadata or {}), **told(sidecars)}
        return self.with_data(self.data.replace_schema_metadata(metadata))


def _seen(data: Encoded, view: View) -> Seen:
    try:
        return decode(data, view)
    except UndecodableError as error:
        return error.bare()
