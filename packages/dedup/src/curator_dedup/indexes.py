"""Indexes: what earlier crawls left, so that a new one is compared without reading them again.

A folder: `index.json` says how documents were compared; `crawls/` has a folder for each crawl, and
in it one for each partition. A key stands in an index once, for the crawl that had it first. What a
crawl has of its own files from an earlier run is no reason to remove them: files are told apart
by path, size and modification time.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from curator_core import FilePart, InputError
from curator_core.filesystems import StorageOptions, join, open_filesystem
from curator_core.lineage import fingerprint

from curator_dedup.notes import read_note, write_note

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FORMAT = 1


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
        about = join(self.path, "index.json")
        kept = read_note(about, self.storage_options)
        if kept is None:
            self._refuse_unknown()
            write_note(about, {**mine, "partitions": partitions}, self.storage_options)
            return partitions
        self._refuse_other(mine, kept)
        return int(kept["partitions"])

    def _refuse_unknown(self) -> None:
        if self.crawls():
            raise InputError(
                f"the index {self.path} has crawls, but its index.json is not there or not whole; "
                "put it back, or give another index_path"
            )

    def _refuse_other(self, mine: dict[str, Any], kept: dict[str, Any]) -> None:
        if kept.get("kind") != mine.get("kind"):
            raise InputError(
                f"the index {self.path} is that of another kind of workflow: "
                f"{kept.get('kind') or 'fuzzy'}, not {mine.get('kind') or 'fuzzy'}; give another "
                "index_path"
            )
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
