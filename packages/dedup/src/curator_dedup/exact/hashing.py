"""Hashing: the first pass, which writes a short record about each document."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, FilePart, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.model.lineage import fingerprint

from curator_dedup.blocks import block_id
from curator_dedup.counting import COUNTS
from curator_dedup.digests import DIGEST, digests_of, normalized
from curator_dedup.lacking import Lacking
from curator_dedup.priorities import priorities_of
from curator_dedup.readings import Reading, TextFields, readings_of

TEXT, EMPTY, NO_RECORD = 0, 1, 2
"""Values of the column `state`."""

KNOWN = "known"
"""Column that says whether an earlier crawl has the text."""


@dataclass
class DocumentHashing(ProcessingStage[FileGroup, DocumentBatch]):
    """Hash the text of every document of a block.

    Yields one table per block: hash, block, file, row (the byte where a line begins, or the row
    number in a Parquet file), state (0 text, 1 empty, 2 not a record), and the priority if there is
    a priority field.
    """

    fans_out = False

    text_field: str = "text"
    normalize: bool = False
    priority_field: str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)
    origins: bool = False
    """Add `origin`, a fingerprint of path and version of the file, which an index needs."""

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        fields = TextFields(self.text_field, self.priority_field)
        rows = _Rows(self.priority_field is not None, self.origins)
        for part in task.data:
            for reading in readings_of(part, fields, self.storage_options):
                yield from reading.rejected
                rows.add(reading, self._forms(reading), part)
        if rows.count:
            yield DocumentBatch(rows.table(block_id(task.data)))

    def _forms(self, reading: Reading) -> list[str | None]:
        return normalized(reading.texts) if self.normalize else reading.texts


class _Rows:
    """Collects the columns of a table."""

    def __init__(self, with_priority: bool, with_origin: bool) -> None:
        self.count = 0
        self._lacking = Lacking()
        self._digests: list[pa.Array] = []
        self._states: list[np.ndarray[Any, Any]] = []
        self._positions: list[np.ndarray[Any, Any]] = []
        self._priorities: list[np.ndarray[Any, Any]] | None = [] if with_priority else None
        self._files: dict[str, int] = {}
        self._origins: list[str] | None = [] if with_origin else None
        self._places: list[np.ndarray[Any, Any]] = []

    def add(self, reading: Reading, texts: Sequence[str | None], part: FilePart) -> None:
        is_empty = [not text or text.isspace() for text in texts]
        states = np.array(is_empty, np.int8)
        self._digests.append(_digest_column(texts, any(is_empty), is_empty))
        if self._priorities is not None:
            self._priorities.append(priorities_of(part, reading.scores or ()))
        positions = reading.positions
        if len(reading.bad):
            positions = np.concatenate((positions, reading.bad))
            states = np.concatenate((states, np.full(len(reading.bad), NO_RECORD, np.int8)))
            self._digests.append(pa.nulls(len(reading.bad), DIGEST))
            if self._priorities is not None:
                self._priorities.append(np.full(len(reading.bad), -np.inf))
        self._states.append(states)
        self._positions.append(positions)
        place = self._files.setdefault(part.path, len(self._files))
        if self._origins is not None and place == len(self._origins):
            self._origins.append(fingerprint(f"{part.path}\n{part.version}"))
        self._places.append(np.full(len(positions), place, np.int32))
        self._lacking[part.path] += reading.lacking
        self.count += len(positions)

    def table(self, block: str) -> pa.Table:
        states = np.concatenate(self._states)
        files = pa.array(np.concatenate(self._places), pa.int32())
        blocks = pa.array(np.zeros(self.count, np.int32))
        columns = {
            "hash": pa.chunked_array(self._digests, DIGEST),
            "block": pa.DictionaryArray.from_arrays(blocks, pa.array([block])),
            "file": pa.DictionaryArray.from_arrays(files, pa.array(list(self._files))),
            "row": np.concatenate(self._positions),
            "state": states,
        }
        if self._origins is not None:
            columns["origin"] = pa.DictionaryArray.from_arrays(files, pa.array(self._origins))
        if self._priorities is not None:
            columns["priority"] = np.concatenate(self._priorities)
        counts = np.bincount(states, minlength=3).tolist()
        told = {"documents": counts[TEXT] + counts[EMPTY], "empty": counts[EMPTY],
                "no_records": counts[NO_RECORD], **self._lacking.to_counts()}  # fmt: skip
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})


def _digest_column(texts: Sequence[str | None], some: bool, is_empty: Sequence[bool]) -> pa.Array:
    digests = digests_of([text.encode("utf-8", "surrogatepass") if text else b"" for text in texts])
    if not some:
        buffers = [None, pa.py_buffer(b"".join(digests))]
        return pa.FixedSizeBinaryArray.from_buffers(DIGEST, len(digests), buffers)
    return pa.array(
        [None if no else one for one, no in zip(digests, is_empty, strict=True)], DIGEST
    )
