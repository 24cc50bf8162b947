"""Indexes: records of earlier crawls, to compare a new crawl without reading the old ones.

An index is a folder: `index.json` records how documents were compared, and `crawls/` has a folder
for each output that was compared with the index. A crawl that is repeated into the same output
replaces its own entries and is never compared with them. Documents are never removed because of
their own files either, even if another output contains these: files are identified by path, size
and modification time.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from curator_core import FilePart, InputError
from curator_core.io.filesystems import StorageOptions, full_path, join, open_filesystem
from curator_core.model.ids import fingerprint

from curator_dedup.intermediate_files import read_note, write_note

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_FORMAT = 2


@dataclass(frozen=True)
class Index:
    """An index in a folder."""

    path: str
    storage_options: StorageOptions | None = None

    def open(self, options: "DataclassInstance", partitions: int) -> int:
        """Create the index if it does not exist; return its number of partitions."""
        wanted = {"format": _FORMAT, **asdict(options)}
        about = join(self.path, "index.json")
        existing = read_note(about, self.storage_options)
        if existing is None:
            self._refuse_unknown()
            write_note(about, {**wanted, "partitions": partitions}, self.storage_options)
            return partitions
        self._refuse_other(wanted, existing)
        return int(existing["partitions"])

    def _refuse_unknown(self) -> None:
        if self.crawls():
            raise InputError(
                f"the index {self.path} has crawls, but its index.json is missing or incomplete; "
                "restore it, or give another index_path"
            )

    def _refuse_other(self, wanted: dict[str, Any], existing: dict[str, Any]) -> None:
        if existing.get("format") != _FORMAT:
            raise InputError(
                f"the index {self.path} was made by another version of curator-dedup; give "
                "another index_path, and repeat the crawls that it should know"
            )
        if existing.get("kind") != wanted.get("kind"):
            raise InputError(
                f"the index {self.path} was made by another kind of workflow: "
                f"{existing.get('kind') or 'fuzzy'}, not {wanted.get('kind') or 'fuzzy'}; give "
                "another index_path"
            )
        other = [
            f"{name}={existing.get(name)!r}, not {value!r}"
            for name, value in wanted.items()
            if existing.get(name) != value
        ]
        if other:
            raise InputError(
                f"the index {self.path} was made with {', '.join(other)}; "
                "give the same options, or another index_path"
            )

    @property
    def location(self) -> str:
        """The absolute path of the index."""
        return _full_path(self.path, self.storage_options)

    def crawls(self) -> list[str]:
        """Return the folders of all crawls in the index."""
        fs, inner = open_filesystem(join(self.path, "crawls"), dict(self.storage_options or {}))
        if not fs.isdir(inner):
            return []
        names = [str(path).rstrip("/").rpartition("/")[2] for path in fs.ls(inner, detail=False)]
        return sorted(self.crawl(name) for name in names if not name.startswith("."))

    def crawl(self, name: str) -> str:
        return join(self.location, "crawls", name)


def crawl_state(files: Sequence[FilePart]) -> str:
    """Return a fingerprint of the paths, sizes and versions of the files of a crawl."""
    return fingerprint(*sorted(f"{file.path}\n{file.size}\n{file.version}" for file in files))


@dataclass(frozen=True)
class Crawls:
    """The crawl that a workflow adds to an index, and the earlier ones that it is compared with."""

    own: str
    earlier: list[str]


def record_crawls(
    index: Index, files: Sequence[FilePart], note: str, output: str, *, overwrites: bool
) -> Crawls:
    """Decide which crawls to compare with, and record the decision in a note.

    A workflow with the note always uses the same crawl in the index. While its input is unchanged,
    it is compared with the same other crawls; once the input has changed, with all others.
    """
    state = crawl_state(files)
    record = read_note(note, index.storage_options)
    if record is None or record["index"] != index.location:
        own = _crawl_of(index, output, overwrites=overwrites)
        record = {"index": index.location, "own": own, "state": None, "earlier": []}
    if record["state"] != state:
        earlier = [crawl for crawl in index.crawls() if crawl != record["own"]]
        record = {**record, "state": state, "earlier": earlier}
        write_note(note, record, index.storage_options)
    return Crawls(record["own"], record["earlier"])


def output_name(output: str, storage_options: StorageOptions | None = None) -> str:
    """Return the prefix of the names of all crawls into an output."""
    return fingerprint(_full_path(output, storage_options).rstrip("/"))[:16]


def _full_path(path: str, storage_options: StorageOptions | None) -> str:
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    return full_path(fs, inner)


def _crawl_of(index: Index, output: str, *, overwrites: bool) -> str:
    """Return the crawl of a workflow that has not used the index before.

    An earlier crawl into the same output counts as another crawl, whose result was moved or is
    appended to, unless its result is overwritten.
    """
    name = output_name(output, index.storage_options)
    previous = [crawl for crawl in index.crawls() if crawl_output(crawl) == name]
    number = max((int(crawl.rpartition("-")[2]) for crawl in previous), default=-1)
    if number < 0 or not overwrites:
        number += 1
    return index.crawl(f"{name}-{number}")


def crawl_output(crawl: str) -> str:
    """Return the part of a crawl's name that identifies its output."""
    return crawl.rstrip("/").rpartition("/")[2].rpartition("-")[0]
