"""Removing: drop or cut benchmark text from a corpus."""

import hashlib
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, NodeInfo, ProcessingStage, Rejected, WorkerInfo
from curator_core.errors import CuratorError, hint
from curator_core.io.filesystems import StorageOptions, base_name
from curator_core.model.arrow import rows_at, rows_where, with_column

from curator_text.contamination.benchmarks import Benchmarks
from curator_text.contamination.cutting import without_spans
from curator_text.contamination.indexes import GramOptions, Index, build
from curator_text.contamination.matching import Match, match
from curator_text.rejecting import RowErrors
from curator_text.text_columns import as_texts, damage_of, text_column

Action: TypeAlias = Literal["drop", "cut"]

_FORMAT = 1
_MOST_TOLD = 20
_HITS = pa.list_(
    pa.struct([(name, pa.string()) for name in ("benchmark", "example", "ngram")]),
)


@dataclass
class Decontaminator(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drops documents that contain benchmark text, or cuts that text out.

    Texts are compared word by word: runs of letters and digits, regardless of case and of the
    characters between them. In Chinese, Japanese, Thai and similar scripts, each character is a
    word. The n-grams are collected once per node, in files that its workers share. Hashes select
    candidates, and then the words themselves are compared. Documents without text are kept.
    """

    benchmarks: dict[str, str | list[str]] | list[str] | str
    """Benchmark files, folders or patterns: JSON lines, Parquet, or plain text (.txt) with one
    example per paragraph. A mapping from names to paths, or one path or a list of paths, named
    after their files."""

    ngram_size: int = 13
    """Number of consecutive words that must match."""

    shortest: int = 8
    """Examples shorter than `ngram_size` are matched as a whole, unless they have fewer words than
    this."""

    max_share: float = 0.0
    """A document matches if more than this share of its words is benchmark text; with 0, a single
    n-gram suffices."""

    action: Action = "drop"
    """`drop` the document, or `cut` the benchmark text out of it."""

    margin: int = 200
    """Cutting: number of characters to remove on each side as well."""

    min_piece: int = 200
    """Cutting: remaining pieces with fewer characters than this are removed."""

    max_cuts: int = 10
    """Cutting: documents with more stretches of benchmark text than this are dropped."""

    max_examples: int | None = None
    """N-grams that occur in more examples than this are ignored as too common."""

    ignore: list[str] = field(default_factory=list)
    """Texts whose n-grams are ignored, such as instructions that all examples start with."""

    fields: list[str] | None = None
    """Columns of the benchmark files to use; by default all text columns."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    hits_field: str | None = field(default=None, kw_only=True)
    """Output column for the matches: benchmark, example and n-gram, at most 20 of them."""

    index_path: str | None = field(default=None, kw_only=True)
    """Folder on each node for the n-gram index; by default a folder for temporary files."""

    storage_options: StorageOptions | None = field(default=None, kw_only=True, repr=False)
    """fsspec options for benchmarks on an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        self._index: Index | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_index": None}

    def check(self) -> Iterable[str]:
        if not self.benchmarks:
            yield "benchmarks is empty; name the files to look for"
        yield from self._wrong_numbers()
        if not 0 <= self.max_share < 1:
            yield f"max_share is {self.max_share}, but must be at least 0 and below 1"
        if self.action not in get_args(Action):
            yield f"action is {self.action!r}{hint(self.action, get_args(Action))}"
        if self.hits_field == self.text_field:
            yield f"hits_field is {self.hits_field!r}, the column that holds the text"
        yield from self._unreadable()

    def _wrong_numbers(self) -> Iterable[str]:
        least = {"ngram_size": 1, "shortest": 1, "margin": 0, "min_piece": 0, "max_cuts": 0,
                 "max_examples": 1}  # fmt: skip
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                yield f"{name} is {value}, but must be {smallest} or more"

    def _unreadable(self) -> Iterable[str]:
        try:
            files = list(self._sources.files())
        except CuratorError as error:
            yield f"benchmarks: {error}"
            return
        if self.benchmarks and not files:
            yield "benchmarks: no files"

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return () if self.hits_field is None else (self.hits_field,)

    def setup_on_node(self, node: NodeInfo) -> None:
        build(self._sources.examples(), self._grams, self._folder())

    def setup(self, worker: WorkerInfo) -> None:
        self._index = None
        _ = self.index

    def teardown(self) -> None:
        self._index = None

    @property
    def index(self) -> Index:
        """The index of n-grams, built on first use."""
        if self._index is None:
            folder = self._folder()
            build(self._sources.examples(), self._grams, folder)  # no-op if it exists
            self._index = Index(folder)
        return self._index

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped | Rejected]:
        errors = RowErrors(task, damage_of(text_column(task.data, self.text_field)))
        [good, *rejected] = errors.settle(lambda table: table)
        assert isinstance(good, DocumentBatch)
        texts = text_column(good.data, self.text_field).to_pylist()
        matches = [None if text is None else self._match(text) for text in texts]
        if self.hits_field is not None:
            hits = [[] if one is None else [g._asdict() for g in _told(one)] for one in matches]
            good = good.with_data(with_column(good.data, self.hits_field, pa.array(hits, _HITS)))
        return [*self._settled(good, texts, matches), *rejected]

    def _match(self, text: str) -> Match | None:
        found = match(text, self.index, _MOST_TOLD)
        return found if found is not None and found.share > self.max_share else None

    def _settled(
        self, good: DocumentBatch, texts: list[str | None], matches: list[Match | None]
    ) -> list[DocumentBatch | Dropped]:
        reasons: dict[str, list[int]] = defaultdict(list)
        for row, found in enumerate(matches):
            if found is None:
                continue
            left = self._left_of(found)
            if isinstance(left, str):
                texts[row] = left
            else:
                reasons[left.reason].append(row)
        gone = {row for rows in reasons.values() for row in rows}
        dropped = [_dropped(good, reason, rows) for reason, rows in reasons.items()]
        if self.action == "cut" and any(matches):
            kind = text_column(good.data, self.text_field).type
            table = with_column(good.data, self.text_field, as_texts(texts, kind))
            good = good.with_data(table)
        if gone:
            mask = pa.array([row not in gone for row in range(good.num_items)], pa.bool_())
            good = good.with_data(rows_where(good.data, mask))
        return [good, *dropped]

    def _left_of(self, found: Match) -> "str | Dropped":
        """Return the text that remains, or the reason to drop all of it."""
        if self.action == "drop":
            return Dropped(f"holds text of {found.benchmark}")
        if len(found.stretches) > self.max_cuts:
            return Dropped(f"holds text of {found.benchmark} in too many places")
        left = without_spans(found.text, found.spans(), self.margin, self.min_piece)
        return left or Dropped(f"holds little but text of {found.benchmark}")

    @property
    def _sources(self) -> Benchmarks:
        given = self.benchmarks
        if isinstance(given, str | os.PathLike):
            given = [given]
        named = given if isinstance(given, Mapping) else _named([str(path) for path in given])
        paths = {
            name: [str(one)] if isinstance(one, str | os.PathLike) else [str(path) for path in one]
            for name, one in named.items()
        }
        return Benchmarks(paths, self.fields, self.storage_options)

    @property
    def _grams(self) -> GramOptions:
        shortest = min(self.shortest, self.ngram_size)
        return GramOptions(self.ngram_size, shortest, self.max_examples, tuple(self.ignore))

    def _folder(self) -> Path:
        """Return the index folder.

        Its name is a hash of everything that the index depends on, including this Python version.
        """
        files = [[n, p.path, p.size, p.version] for n, p in self._sources.files()]
        facts = [_FORMAT, files, self.fields, list(vars(self._grams).values()), sys.version]
        digest = hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()
        top = self.index_path or os.path.join(tempfile.gettempdir(), f"curator-{os.getuid()}")
        return _private(Path(top)) / f"ngrams-{digest}"


def _named(paths: list[str]) -> Mapping[str, str | list[str]]:
    """Name files after their base names, or after their whole paths if base names collide."""
    names = [base_name(path).partition(".")[0] for path in paths]
    pairs = zip(names, paths, strict=True)
    return {name if name and names.count(name) == 1 else path: path for name, path in pairs}


def _private(folder: Path) -> Path:
    """Return a folder after checking that no other user can write to it.

    The content of the folder is trusted.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    facts = folder.stat()
    if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise CuratorError(
            f"{folder} can be written to by others, but the n-grams of benchmarks are kept there; "
            "name a folder of your own in index_path"
        )
    return folder


def _told(found: Match) -> list[Any]:
    return list(dict.fromkeys(found.grams))


def _dropped(good: DocumentBatch, reason: str, rows: list[int]) -> Dropped:
    return Dropped(reason, len(rows), lambda: good.with_data(rows_at(good.data, rows)))
