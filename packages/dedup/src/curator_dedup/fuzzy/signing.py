"""Signing: the first pass, which writes a short record about each band of each document."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.model.lineage import fingerprint
from curator_core.model.resources import NodeInfo

from curator_dedup.blocks import block_id
from curator_dedup.counting import COUNTS
from curator_dedup.engines import is_compiled
from curator_dedup.fuzzy.permutations import Permutations
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.signatures import Signing
from curator_dedup.lacking import Lacking
from curator_dedup.priorities import priorities_of
from curator_dedup.readings import Reading, TextFields, readings_of

TEXT, EMPTY, NO_RECORD, COUNTED, EARLIER = range(5)
"""Values of the column `state`. `COUNTED` is the only row of a block that would have none, so that
its counts are written. `EARLIER` is a document of an earlier crawl."""

KEY = pa.binary(8)


@dataclass(frozen=True)
class SigningOptions:
    """How documents are compared. Keys are comparable only if all of these options are equal."""

    word_ngrams: int | None = 5
    char_ngrams: int | None = None
    normalize: bool = True
    num_bands: int = 14
    minhashes_per_band: int = 8
    seed: int = 42

    @property
    def signing(self) -> Signing:
        shingling = Shingling(self.word_ngrams, self.char_ngrams, self.normalize)
        return Signing(shingling, Permutations(self.num_bands, self.minhashes_per_band, self.seed))


@dataclass
class DocumentSigning(ProcessingStage[FileGroup, DocumentBatch]):
    """Compute the signature of every document of a block.

    Yields one table per block, with a row for each band of a document: key, block, file, row (the
    byte where a line begins, or the row number in a Parquet file), state (0 text, 1 empty, 2 not a
    record; the last two have no key), the priority if there is a priority field, and with an index
    `origin`, a fingerprint of path and version of the file.
    """

    fans_out = False

    options: SigningOptions = field(default_factory=SigningOptions)
    text_field: str = "text"
    priority_field: str | None = None
    keep_empty: bool = True
    origins: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup_on_node(self, node: NodeInfo) -> None:
        """Compile once per node, for all of its workers."""
        if is_compiled():
            self.options.signing.keys(["a"])

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        fields = TextFields(self.text_field, self.priority_field)
        signing = self.options.signing
        rows = _Rows(self, signing.permutations.bands)
        for part in task.data:
            for reading in readings_of(part, fields, self.storage_options):
                yield from reading.rejected
                rows.add(reading, signing, part)
        if rows.documents or rows.none:
            rows.fill()
            yield DocumentBatch(rows.table(block_id(task.data)))


class _Rows:
    """Collects the columns of a table."""

    def __init__(self, stage: DocumentSigning, bands: int) -> None:
        self.documents = self.none = 0
        self._empty = 0
        self._lacking = Lacking()
        self._stage = stage
        self._bands = bands
        self._keys: list[np.ndarray[Any, Any]] = []
        self._signed: list[_Places] = []
        self._others: list[_Places] = []
        self._files: dict[str, int] = {}
        self._versions: list[str] = []

    def add(self, reading: Reading, signing: Signing, part: FilePart) -> None:
        texts = reading.texts
        keys, known = signing.keys(texts)
        scores = None
        if self._stage.priority_field is not None:
            scores = priorities_of(part, reading.scores or ())
        file = self._file(part)
        self._keys.append(keys if known.all() else keys[known])
        self._signed.append(_Places(file, reading.positions, TEXT, scores).only(known))
        empty = np.array([not text or text.isspace() for text in _unsigned(texts, known)], np.bool_)
        self._empty += int(empty.sum())
        self._lacking[part.path] += reading.lacking
        self.documents += len(texts)
        self.none += len(reading.bad)
        if empty.any() and not self._stage.keep_empty:
            self._others.append(_Places(file, reading.positions[~known][empty], EMPTY))
        if len(reading.bad):
            self._others.append(_Places(file, reading.bad, NO_RECORD))

    def fill(self) -> None:
        """Add a row if there is none."""
        if not any(len(place.rows) for place in (*self._signed, *self._others)):
            self._others.append(_Places(0, np.zeros(1, np.int64), COUNTED))

    def _file(self, part: FilePart) -> int:
        if part.path not in self._files:
            self._files[part.path] = len(self._files)
            self._versions.append(fingerprint(part.path, part.version))
        return self._files[part.path]

    def table(self, block: str) -> pa.Table:
        keys = np.concatenate([one.ravel() for one in self._keys])
        others = sum(len(place.rows) for place in self._others)
        signed = pa.FixedSizeBinaryArray.from_buffers(KEY, len(keys), [None, pa.py_buffer(keys)])
        files = self._column("files", np.int32)
        columns = {
            "key": pa.chunked_array([signed, pa.nulls(others, KEY)], KEY),
            "block": _coded(np.zeros(len(files), np.int32), [block]),
            "file": _coded(files, list(self._files)),
            "row": self._column("rows", np.int64),
            "state": self._column("states", np.int8),
        }
        if self._stage.priority_field is not None:
            columns["priority"] = self._column("scores", np.float64)
        if self._stage.origins:
            columns["origin"] = _coded(files, self._versions)
        told = {"documents": self.documents, "empty": self._empty, "no_records": self.none,
                **self._lacking.to_counts()}  # fmt: skip
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})

    def _column(self, name: str, kind: Any) -> np.ndarray[Any, Any]:
        """Return a value for each band of the signed documents, and one for each other document."""
        signed = [getattr(place, name) for place in self._signed]
        others = [getattr(place, name) for place in self._others]
        nothing = np.zeros(0, kind)
        repeated = np.repeat(np.concatenate([*signed, nothing]), self._bands)
        return np.concatenate([repeated, *others, nothing]).astype(kind)


class _Places:
    """Positions of some documents of a file, with their state and priority."""

    def __init__(
        self,
        file: int,
        rows: np.ndarray[Any, Any],
        state: int,
        scores: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.rows = rows
        self.files = np.full(len(rows), file, np.int32)
        self.states = np.full(len(rows), state, np.int8)
        self.scores = np.full(len(rows), -np.inf) if scores is None else scores

    def only(self, mask: np.ndarray[Any, Any]) -> "_Places":
        if not mask.all():
            for name in ("rows", "files", "states", "scores"):
                setattr(self, name, getattr(self, name)[mask])
        return self


def _unsigned(texts: Sequence[str | None], known: np.ndarray[Any, Any]) -> list[str | None]:
    return [texts[place] for place in np.flatnonzero(~known).tolist()]


def _coded(places: np.ndarray[Any, Any], values: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(values))
