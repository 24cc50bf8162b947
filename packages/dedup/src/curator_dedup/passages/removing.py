"""Removing: read documents again and write them without their repeated passages."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers.json_records import parse
from curator_core.io.readers.lines import Lines
from curator_core.io.readers.tables import Columns, columns_of
from curator_core.model.arrow import rows_at

from curator_dedup.blocks import block_id, decisions_of, inputs_of, is_parquet
from curator_dedup.lines import Piece, pieces_of
from curator_dedup.passages.documents import in_order
from curator_dedup.passages.spans import (
    KeepPassages,
    RepeatedSpan,
    Repeats,
    SpanFinding,
    without,
)
from curator_dedup.passages.tallying import Example, Tally
from curator_dedup.passages.windows import PassageRule
from curator_dedup.readings import column_of, tables_of
from curator_dedup.removal.removing import LINE, Batches, Format, content_of

SPANS = "repeated_spans"
"""Column that `keep="mark"` adds: pairs of character positions in the text."""

SHORT = "too little is left without repeated passages"

Content: TypeAlias = "pa.Table | Columns"


@dataclass(frozen=True)
class _Finding(SpanFinding):
    """Finds the spans of one file, and counts them."""

    path: str
    tally: Tally

    def count(self, text: str, row: int, spans: Sequence[RepeatedSpan], *, emptied: bool) -> None:
        self.tally.add(self.path, spans, emptied=emptied)
        if not self.tally.wants_examples:
            return
        self.tally.tried += 1
        first = self.first_of(text, spans[0])
        shown = [
            (self.path, row),
            *((one.first_file, one.first_row) for one in self.tally.examples),
        ]
        if first is not None and first not in shown:
            example = Example(self.path, row, list(spans[0].passage), *first)
            self.tally.examples.append(example)


@dataclass
class PassageRemoving(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the documents of a block without repeated passages.

    Lines without repeated passages are copied. Documents that have only whitespace left, or fewer
    than `min_words` words, are dropped.
    """

    fans_out = True

    rule: PassageRule
    partitions: int
    text_field: str = "text"
    keep: KeepPassages = "first"
    min_words: int = 0
    output_format: Format = "same"
    tallies: str | None = None
    """Folder for notes of what is cut out of each file."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = inputs_of(task)
        repeats = Repeats.of_block(
            block_id(inputs), decisions_of(task), self.partitions, self.storage_options
        )
        kind = "parquet" if is_parquet(inputs[0].path) else "jsonl"
        batches = Batches(kind if self.output_format == "same" else self.output_format)
        gone: Counter[str] = Counter()
        tally = Tally()
        for part in in_order(inputs):
            finding = None
            if repeats is not None:
                within = repeats.within(part.path)
                finding = _Finding(self.rule, within, self.keep, part.path, tally)
            for content in self._contents(part, finding, gone):
                yield from batches.add(content)
        yield from batches.rest()
        if self.tallies is not None:
            tally.write(self.tallies, block_id(inputs), self.storage_options)
        for reason, count in gone.items():
            yield Dropped(reason, count)

    def _contents(
        self, part: FilePart, finding: _Finding | None, gone: Counter[str]
    ) -> Iterator[Content]:
        if is_parquet(part.path):
            for start, table in tables_of(part, self.storage_options):
                yield self._of_table(table, start, finding, gone)
            return
        for piece in pieces_of(part, self.storage_options):
            lines = self._of_lines(piece, finding, gone)
            if self.output_format == "parquet":
                records = parse(Lines(content_of(lines), 1)).records if len(lines) else []
                yield columns_of(records, None, self.text_field)
            else:
                yield pa.table({LINE: lines})

    def _of_lines(self, piece: Piece, finding: _Finding | None, gone: Counter[str]) -> pa.Array:
        # Not 0: there a byte order mark would be looked for again.
        parsed = parse(Lines(piece.data, 1, piece.too_long))
        bad = [line.number for line in parsed.bad]
        gone.update({"no record": len(bad)} if bad else {})
        rows = np.delete(np.arange(len(piece)), bad)
        texts = [record.get(self.text_field) for record in parsed.records]
        changed = self._changed(texts, piece.positions[rows], finding)
        column = piece.column()
        if not changed and self.keep != "mark":
            return column.take(pa.array(rows)) if bad else column
        lines = column.take(pa.array(rows)).to_pylist()
        for place in range(len(lines)) if self.keep == "mark" else changed:
            text, spans = changed.get(place, (texts[place], []))
            lines[place] = self._rewritten(lines[place], text, spans)
        short = {place for place in changed if changed[place][0] is None}
        gone.update({SHORT: len(short)} if short else {})
        kept = [line for place, line in enumerate(lines) if place not in short]
        return pa.array(kept, pa.binary())

    def _rewritten(self, line: bytes, text: Any, spans: list[list[int]]) -> bytes:
        record = json.loads(line)  # supports integers of any size
        if self.keep == "mark":
            record[SPANS] = spans
        else:
            record[self.text_field] = text
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _of_table(
        self, table: pa.Table, start: int, finding: _Finding | None, gone: Counter[str]
    ) -> pa.Table:
        column = column_of(table, self.text_field)
        texts: list[Any] = [None] * table.num_rows
        if finding is not None and _is_text(column.type):
            texts = pc.cast(column, pa.string()).to_pylist()
        changed = self._changed(texts, np.arange(start, start + table.num_rows), finding)
        if self.keep == "mark":
            marks = [changed[row][1] if row in changed else [] for row in range(len(texts))]
            return table.append_column(SPANS, pa.array(marks, pa.list_(pa.list_(pa.int64()))))
        if not changed:
            return table
        for row, (text, _) in changed.items():
            texts[row] = text
        fresh = pa.array(texts, pa.string()).cast(column.type)
        place = table.column_names.index(self.text_field)
        table = table.set_column(place, table.schema.field(place), fresh)
        short = [row for row, (text, _) in changed.items() if text is None]
        gone.update({SHORT: len(short)} if short else {})
        return rows_at(table, pa.array(np.delete(np.arange(table.num_rows), short)))

    def _changed(
        self, texts: Sequence[Any], positions: npt.NDArray[np.int64], finding: _Finding | None
    ) -> dict[int, tuple[str | None, list[list[int]]]]:
        """Return texts without their repeated passages, and the spans of these, by index."""
        if finding is None:
            return {}
        plain = [text if type(text) is str else None for text in texts]
        found = finding.spans(plain, positions)
        changed = {}
        for place, spans in found.items():
            text = plain[place] or ""
            left = self._left(text, spans)
            finding.count(text, int(positions[place]), spans, emptied=left is None)
            changed[place] = left, [list(one.passage) for one in spans]
        return changed

    def _left(self, text: str, spans: Sequence[RepeatedSpan]) -> str | None:
        if self.keep == "mark":
            return text
        left = without(text, spans)
        return left if left.split(None, self.min_words)[max(0, self.min_words - 1) :] else None


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(plain) for check in checks)
