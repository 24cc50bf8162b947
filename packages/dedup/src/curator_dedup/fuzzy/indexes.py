"""The bands of earlier crawls, as an index keeps them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, InputError, ProcessingStage
from curator_core.filesystems import StorageOptions, open_input

from curator_dedup.folders import batch_for, files_in
from curator_dedup.fuzzy.signing import KEY
from curator_dedup.fuzzy.tables import keys_of
from curator_dedup.mixing import Words


@dataclass(frozen=True)
class Entries:
    """Keys in order, for each the document that had it first, and the file of that."""

    keys: Words
    documents: Words
    files: npt.NDArray[np.int64]
    origins: list[str]

    def places(self, keys: Words) -> npt.NDArray[np.int64]:
        """Where keys stand; -1 for those that are new."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        found = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[found] == keys, found, -1)


def entries_in(parts: Sequence[FilePart], storage_options: StorageOptions | None = None) -> Entries:
    """All that some files of an index hold."""
    schema = pa.schema([("key", KEY), ("doc", KEY), ("origin", pa.string())])
    tables = [_read(part, storage_options).select(schema.names) for part in parts]
    plain = [table.set_column(2, "origin", _plain(table["origin"])) for table in tables]
    table = pa.concat_tables([schema.empty_table(), *(one.cast(schema) for one in plain)])
    keys = keys_of(table["key"])
    order = np.argsort(keys, kind="stable")
    coded = table["origin"].combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    files = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Entries(
        keys[order], keys_of(table["doc"])[order], files[order], coded.dictionary.to_pylist()
    )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _read(part: FilePart, storage_options: StorageOptions | None) -> pa.Table:
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        try:
            return pq.read_table(source)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"cannot read {part.path} of the index: {str(error).splitlines()[0]}; remove it, "
                "and run the crawl that wrote it once more"
            ) from None


@dataclass
class EntryListing(ProcessingStage[Empty, FileGroup]):
    """Lists what a crawl adds to an index, a file a task."""

    path: str
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        for part in files_in(self.path, self.storage_options):
            yield FileGroup([part])


@dataclass
class EntryReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Reads what a crawl adds, for the folder of its partition."""

    fans_out = False

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch:
        [part] = task.data
        folder = part.path.rstrip("/").split("/")[-2]
        return batch_for(folder, _read(part, self.storage_options), key="key", partitions=1)
