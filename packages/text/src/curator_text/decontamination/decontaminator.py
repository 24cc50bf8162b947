"""Decontaminator: drop documents with benchmark text, or cut that text out."""

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

from curator_text.decontamination.benchmarks import Benchmarks
from curator_text.decontamination.index import (
    Match,
    NgramIndex,
    NgramIndexOptions,
    build_index,
    find_match,
)
from curator_text.row_errors import RowErrors
from curator_text.text_columns import find_invalid_utf8, text_column, to_text_column

ContaminationAction: TypeAlias = Literal["drop", "cut"]

_FORMAT = 2
_MAX_HITS = 20
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

    action: ContaminationAction = "drop"
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
        self._index: NgramIndex | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_index": None}

    def check(self) -> Iterable[str]:
        if not self.benchmarks:
            yield "benchmarks is empty; name the files to look for"
        yield from self._number_problems()
        if not 0 <= self.max_share < 1:
            yield f"max_share is {self.max_share}, but must be at least 0 and below 1"
        if self.action not in get_args(ContaminationAction):
            yield f"action is {self.action!r}{hint(self.action, get_args(ContaminationAction))}"
        if self.hits_field == self.text_field:
            yield f"hits_field is {self.hits_field!r}, the column that holds the text"
        yield from self._benchmark_problems()

    def _number_problems(self) -> Iterable[str]:
        minimums = {"ngram_size": 1, "shortest": 1, "margin": 0, "min_piece": 0, "max_cuts": 0,
                 "max_examples": 1}  # fmt: skip
        for name, minimum in minimums.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                yield f"{name} is {value}, but must be {minimum} or more"

    def _benchmark_problems(self) -> Iterable[str]:
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
        build_index(self._sources.examples(), self._index_options, self._folder())

    def setup(self, worker: WorkerInfo) -> None:
        self._index = None
        _ = self.index

    def teardown(self) -> None:
        self._index = None

    @property
    def index(self) -> NgramIndex:
        """The index of n-grams, built on first use."""
        if self._index is None:
            folder = self._folder()
            build_index(self._sources.examples(), self._index_options, folder)  # no-op if it exists
            self._index = NgramIndex(folder)
        return self._index

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped | Rejected]:
        errors = RowErrors(task, find_invalid_utf8(text_column(task.data, self.text_field)))
        [batch, *rejected] = errors.apply(lambda table: table)
        assert isinstance(batch, DocumentBatch)
        texts = text_column(batch.data, self.text_field).to_pylist()
        matches = [None if text is None else self._match(text) for text in texts]
        if self.hits_field is not None:
            hits = [
                [] if one is None else [g._asdict() for g in _unique_ngrams(one)] for one in matches
            ]
            batch = batch.with_data(with_column(batch.data, self.hits_field, pa.array(hits, _HITS)))
        return [*self._apply_matches(batch, texts, matches), *rejected]

    def _match(self, text: str) -> Match | None:
        match = find_match(text, self.index, _MAX_HITS)
        return match if match is not None and match.share > self.max_share else None

    def _apply_matches(
        self, batch: DocumentBatch, texts: list[str | None], matches: list[Match | None]
    ) -> list[DocumentBatch | Dropped]:
        reasons: dict[str, list[int]] = defaultdict(list)
        for row, match in enumerate(matches):
            if match is None:
                continue
            remaining = self._remaining_text(match)
            if isinstance(remaining, str):
                texts[row] = remaining
            else:
                reasons[remaining.reason].append(row)
        dropped_rows = {row for rows in reasons.values() for row in rows}
        dropped = [_make_dropped(batch, reason, rows) for reason, rows in reasons.items()]
        if self.action == "cut" and any(matches):
            kind = text_column(batch.data, self.text_field).type
            table = with_column(batch.data, self.text_field, to_text_column(texts, kind))
            batch = batch.with_data(table)
        if dropped_rows:
            mask = pa.array([row not in dropped_rows for row in range(batch.num_items)], pa.bool_())
            batch = batch.with_data(rows_where(batch.data, mask))
        return [batch, *dropped]

    def _remaining_text(self, match: Match) -> "str | Dropped":
        """Return the text that remains, or the reason to drop all of it."""
        if self.action == "drop":
            return Dropped(f"holds text of {match.benchmark}")
        if len(match.stretches) > self.max_cuts:
            return Dropped(f"holds text of {match.benchmark} in too many places")
        remaining = cut_spans(match.text, match.spans(), self.margin, self.min_piece)
        return remaining or Dropped(f"holds little but text of {match.benchmark}")

    @property
    def _sources(self) -> Benchmarks:
        if isinstance(self.benchmarks, Mapping):
            named = self.benchmarks
        else:
            named = _name_by_file(_path_list(self.benchmarks))
        paths = {name: _path_list(given) for name, given in named.items()}
        return Benchmarks(paths, self.fields, self.storage_options)

    @property
    def _index_options(self) -> NgramIndexOptions:
        shortest = min(self.shortest, self.ngram_size)
        return NgramIndexOptions(self.ngram_size, shortest, self.max_examples, tuple(self.ignore))

    def _folder(self) -> Path:
        """Return the index folder.

        Its name is a hash of everything that the index depends on, including this Python version.
        """
        files = [[n, p.path, p.size, p.version] for n, p in self._sources.files()]
        key = [_FORMAT, files, self.fields, list(vars(self._index_options).values()), sys.version]
        digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=16).hexdigest()
        top = self.index_path or os.path.join(tempfile.gettempdir(), f"curator-{os.getuid()}")
        return _check_private_folder(Path(top)) / f"ngrams-{digest}"


def _path_list(paths: str | list[str]) -> list[str]:
    return [str(paths)] if isinstance(paths, str | os.PathLike) else [str(path) for path in paths]


def _name_by_file(paths: list[str]) -> dict[str, str | list[str]]:
    """Name files after their base names, or after their whole paths if base names collide."""
    names = [base_name(path).partition(".")[0] for path in paths]
    pairs = zip(names, paths, strict=True)
    return {name if name and names.count(name) == 1 else path: path for name, path in pairs}


def _check_private_folder(folder: Path) -> Path:
    """Return a folder after checking that no other user can write to it.

    The content of the folder is trusted.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stat = folder.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o022:
        raise CuratorError(
            f"{folder} is writable by other users, so the n-gram index cannot be kept there; "
            "set index_path to a folder of your own"
        )
    return folder


def _unique_ngrams(match: Match) -> list[Any]:
    return list(dict.fromkeys(match.ngrams))


def _make_dropped(batch: DocumentBatch, reason: str, rows: list[int]) -> Dropped:
    return Dropped(reason, len(rows), lambda: batch.with_data(rows_at(batch.data, rows)))


def cut_spans(text: str, spans: Iterable[tuple[int, int]], margin: int, shortest: int) -> str:
    """Return the rest as paragraphs.

    Words are kept whole; pieces that are too short are removed.
    """
    pieces = []
    position = 0
    for start, end in spans:
        pieces.append(text[position : max(position, _word_start(text, start - margin))])
        position = max(position, _word_end(text, end + margin))
    pieces.append(text[position:])
    stripped = (piece.strip() for piece in pieces)
    return "\n\n".join(piece for piece in stripped if piece and len(piece) >= shortest)


def _word_start(text: str, position: int) -> int:
    """Return the position itself, or the start of the word around it."""
    if position <= 0:
        return 0
    while position > 0 and not text[position - 1].isspace():
        position -= 1
    return position


def _word_end(text: str, position: int) -> int:
    while position < len(text) and not text[position].isspace():
        position += 1
    return position
