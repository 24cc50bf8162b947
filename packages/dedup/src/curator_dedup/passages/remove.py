"""Remove repeated passages: read documents again, cut the passages out, and count them.

Each block has one note with its counts, named after it: a block that is repeated writes the same
note.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.readers import Columns, Lines, parse_lines, to_columns
from curator_core.model.arrow import rows_at

from curator_dedup.intermediate_files import read_note, write_note
from curator_dedup.line_reader import LineBatch, read_lines
from curator_dedup.passages.repeats import in_order
from curator_dedup.passages.spans import (
    BlockRepeats,
    KeepPassages,
    RepeatedSpan,
    SpanFinder,
    cut_spans,
)
from curator_dedup.passages.windows import PassageRule
from curator_dedup.passes.list import block_id, extra_files, is_parquet, main_files
from curator_dedup.passes.remove import LINE, Batches, OutputFormat, column_bytes
from curator_dedup.text_reader import column_of, read_tables

MAX_EXAMPLES = 3
"""Maximum number of examples per block."""


@dataclass
class FileCounts:
    """Counts of one file."""

    changed: int = 0
    """Documents with repeated passages."""

    emptied: int = 0
    passages: int = 0
    characters: int = 0
    """Characters in those passages."""


@dataclass
class Example:
    """A repeated passage of a document, and the document where it occurs first."""

    file: str
    row: int
    span: Sequence[int]
    first_file: str
    first_row: int


@dataclass
class PassageCounts:
    """Counts of the files of a block, or of all blocks."""

    files: dict[str, FileCounts] = field(default_factory=dict)
    """Files with repeated passages."""

    examples: list[Example] = field(default_factory=list)
    tried: int = 0
    """Number of documents considered as examples."""

    @property
    def needs_examples(self) -> bool:
        return len(self.examples) < MAX_EXAMPLES and self.tried < 4 * MAX_EXAMPLES

    def add(self, path: str, spans: Sequence[RepeatedSpan], *, emptied: bool) -> None:
        """Add the spans of one document of a file."""
        counts = self.files.setdefault(path, FileCounts())
        counts.changed += 1
        counts.emptied += emptied
        counts.passages += len(spans)
        counts.characters += sum(end - start for start, end in (one.passage for one in spans))

    def write(self, folder: str, block: str, storage_options: StorageOptions | None) -> None:
        write_note(_note(folder, block), asdict(self), storage_options)

    @property
    def totals(self) -> Counter[str]:
        return sum((Counter(asdict(one)) for one in self.files.values()), Counter())


def read_passage_counts(
    folder: str, blocks: Sequence[str], storage_options: StorageOptions | None
) -> PassageCounts:
    """Return the sum of all blocks."""
    whole = PassageCounts()
    for facts in _notes(folder, blocks, storage_options):
        whole.examples += [Example(**one) for one in facts["examples"]]
        for path, counts in facts["files"].items():
            both = Counter(asdict(whole.files.get(path, FileCounts())))
            both.update(counts)
            whole.files[path] = FileCounts(**both)
    return whole


def _notes(
    folder: str, blocks: Sequence[str], storage_options: StorageOptions | None
) -> Iterator[Any]:
    for block in blocks:
        facts = read_note(_note(folder, block), storage_options)
        if facts is not None:
            yield facts


def _note(folder: str, block: str) -> str:
    return join(folder, f"{block}.json")


SPANS = "repeated_spans"
"""Column that `keep="mark"` adds: pairs of character positions in the text."""

TOO_SHORT = "too little is left without repeated passages"

Content: TypeAlias = "pa.Table | Columns"


@dataclass(frozen=True)
class _FileSpans(SpanFinder):
    """Finds the spans of one file, and counts them."""

    path: str
    counts: PassageCounts

    def count(self, text: str, row: int, spans: Sequence[RepeatedSpan], *, emptied: bool) -> None:
        self.counts.add(self.path, spans, emptied=emptied)
        if not self.counts.needs_examples:
            return
        self.counts.tried += 1
        first = self.first_place_of(text, spans[0])
        shown = [
            (self.path, row),
            *((one.first_file, one.first_row) for one in self.counts.examples),
        ]
        if first is not None and first not in shown:
            example = Example(self.path, row, list(spans[0].passage), *first)
            self.counts.examples.append(example)


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
    output_format: OutputFormat = "same"
    counts_folder: str | None = None
    """Folder for notes of what is cut out of each file."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = main_files(task)
        repeats = BlockRepeats.read(
            block_id(inputs), extra_files(task), self.partitions, self.storage_options
        )
        batches = Batches(inputs, self.output_format)
        dropped: Counter[str] = Counter()
        counts = PassageCounts()
        for part in in_order(inputs):
            finder = None
            if repeats is not None:
                in_file = repeats.in_file(part.path)
                finder = _FileSpans(self.rule, in_file, self.keep, part.path, counts)
            for content in self._contents(part, finder, dropped):
                yield from batches.add(content)
        yield from batches.rest()
        if self.counts_folder is not None:
            counts.write(self.counts_folder, block_id(inputs), self.storage_options)
        for reason, count in dropped.items():
            yield Dropped(reason, count)

    def _contents(
        self, part: FilePart, finder: _FileSpans | None, dropped: Counter[str]
    ) -> Iterator[Content]:
        if is_parquet(part.path):
            for start, table in read_tables(part, self.storage_options):
                yield self._cut_table(table, start, finder, dropped)
            return
        for batch in read_lines(part, self.storage_options):
            lines = self._cut_lines(batch, finder, dropped)
            if self.output_format == "parquet":
                records = parse_lines(Lines(column_bytes(lines), 1)).records if len(lines) else []
                yield to_columns(records, None, self.text_field)
            else:
                yield pa.table({LINE: lines})

    def _cut_lines(
        self, batch: LineBatch, finder: _FileSpans | None, dropped: Counter[str]
    ) -> pa.Array:
        # Not 0: there a byte order mark would be looked for again.
        parsed = parse_lines(Lines(batch.data, 1, batch.too_long))
        bad = [line.number for line in parsed.bad]
        dropped.update({"not a record": len(bad)} if bad else {})
        rows = np.delete(np.arange(len(batch)), bad)
        texts = [record.get(self.text_field) for record in parsed.records]
        changed = self._cut_texts(texts, batch.positions[rows], finder)
        column = batch.column()
        if not changed and self.keep != "mark":
            return column.take(pa.array(rows)) if bad else column
        lines = column.take(pa.array(rows)).to_pylist()
        for place in range(len(lines)) if self.keep == "mark" else changed:
            text, spans = changed.get(place, (texts[place], []))
            lines[place] = self._rewrite(lines[place], text, spans)
        short = {place for place in changed if changed[place][0] is None}
        dropped.update({TOO_SHORT: len(short)} if short else {})
        kept = [line for place, line in enumerate(lines) if place not in short]
        return pa.array(kept, pa.binary())

    def _rewrite(self, line: bytes, text: Any, spans: list[list[int]]) -> bytes:
        record = json.loads(line)  # supports integers of any size
        if self.keep == "mark":
            record[SPANS] = spans
        else:
            record[self.text_field] = text
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _cut_table(
        self, table: pa.Table, start: int, finder: _FileSpans | None, dropped: Counter[str]
    ) -> pa.Table:
        column = column_of(table, self.text_field)
        texts: list[Any] = [None] * table.num_rows
        if finder is not None and _is_text(column.type):
            texts = pc.cast(column, pa.string()).to_pylist()
        changed = self._cut_texts(texts, np.arange(start, start + table.num_rows), finder)
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
        dropped.update({TOO_SHORT: len(short)} if short else {})
        return rows_at(table, pa.array(np.delete(np.arange(table.num_rows), short)))

    def _cut_texts(
        self, texts: Sequence[Any], positions: npt.NDArray[np.int64], finder: _FileSpans | None
    ) -> dict[int, tuple[str | None, list[list[int]]]]:
        """Return texts without their repeated passages, and the spans of these, by index."""
        if finder is None:
            return {}
        plain = [text if type(text) is str else None for text in texts]
        found = finder.spans(plain, positions)
        changed = {}
        for place, spans in found.items():
            text = plain[place] or ""
            left = self._without_spans(text, spans)
            finder.count(text, int(positions[place]), spans, emptied=left is None)
            changed[place] = left, [list(one.passage) for one in spans]
        return changed

    def _without_spans(self, text: str, spans: Sequence[RepeatedSpan]) -> str | None:
        if self.keep == "mark":
            return text
        left = cut_spans(text, spans)
        return left if left.split(None, self.min_words)[max(0, self.min_words - 1) :] else None


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(plain) for check in checks)
