"""Indexes: the bands of earlier crawls, so that a new one is compared without reading them again.

A folder: `index.json` says how documents were signed; `crawls/` has a folder for each crawl, and in
it one for each partition. A key stands in an index once, for the crawl that had it first. What a
crawl has of its own files from an earlier run is no reason to remove them: files are told apart
by path, size and modification time.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, InputError, ProcessingStage
from curator_core.filesystems import StorageOptions, join, open_filesystem, open_input
from curator_core.lineage import fingerprint

from curator_dedup.folders import batch_for, files_in
from curator_dedup.fuzzy.permutations import Words
from curator_dedup.fuzzy.signing import KEY
from curator_dedup.fuzzy.tables import keys_of
from curator_dedup.notes import read_note, write_note

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FORMAT = 1


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


def folder_of_partition(folder: str, number: int) -> str:
    return join(folder, f"{number:04d}")


@dataclass(frozen=True)
class Index:
    """An index in a folder."""

    path: str
    storage_options: StorageOptions | None = None

    def opened(self, options: "DataclassInstance", partitions: int) -> int:
        """The number of its partitions; made, where it is not there yet."""
        mine = {"format": _FORMAT, **asdict(options)}
        fs, inner = open_filesystem(join(self.path, "index.json"), dict(self.storage_options or {}))
        if not fs.exists(inner):
            fs.makedirs(inner.rpartition("/")[0], exist_ok=True)
            text = json.dumps({**mine, "partitions": partitions}, indent=2)
            fs.pipe_file(inner, text.encode())
            return partitions
        kept = json.loads(fs.cat_file(inner))
        self._refuse_other(mine, kept)
        return int(kept["partitions"])

    def _refuse_other(self, mine: dict[str, Any], kept: dict[str, Any]) -> None:
        other = [
            f"{name}={kept.get(name)!r}, not {value!r}"
            for name, value in mine.items()
            if kept.get(name) != value
        ]
        if other:
            raise InputError(
                f"the index {self.path} was made with {', '.join(other)}; "
                "give the same options, or another index_path"
            )

    def crawls(self) -> list[str]:
        """The folders of the crawls that are in it."""
        fs, inner = open_filesystem(join(self.path, "crawls"), dict(self.storage_options or {}))
        if not fs.isdir(inner):
            return []
        names = [str(path).rstrip("/").rpartition("/")[2] for path in fs.ls(inner, detail=False)]
        return sorted(self.crawl(name) for name in names if not name.startswith("."))

    def crawl(self, name: str) -> str:
        return join(self.path, "crawls", name)


def crawl_name(files: Sequence[FilePart]) -> str:
    """What tells a crawl from others: the paths and the states of its files."""
    return fingerprint(*sorted(f"{file.path}\n{file.size}\n{file.version}" for file in files))


def note_earlier(index: Index, files: Sequence[FilePart], note: str) -> None:
    """Write down which crawls were there when this one was begun: it goes on with the same."""
    crawl = crawl_name(files)
    noted = read_note(note, index.storage_options)
    if noted is None or noted["crawl"] != crawl:
        crawls = [one for one in index.crawls() if one != index.crawl(crawl)]
        write_note(note, {"crawl": crawl, "crawls": crawls}, index.storage_options)


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
