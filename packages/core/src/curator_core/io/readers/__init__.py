"""Readers: turn files into batches of documents."""

from curator_core.io.readers.base import BATCH_BYTES, FileReader, Piece, ReadingStage
from curator_core.io.readers.json_records import (
    BadLine,
    Record,
    describe_other_format,
    parse_line_by_line,
    parse_lines,
)
from curator_core.io.readers.jsonl import JSONL_ENDINGS, JsonlReader, JsonlReading
from curator_core.io.readers.lines import PIECE_BYTES, Lines, lines_in_range, whole_lines
from curator_core.io.readers.parquet import ParquetReader, ParquetReading
from curator_core.io.readers.tables import Columns, TooWideError, to_columns, to_table

__all__ = [
    "BATCH_BYTES",
    "JSONL_ENDINGS",
    "PIECE_BYTES",
    "BadLine",
    "Columns",
    "FileReader",
    "JsonlReader",
    "JsonlReading",
    "Lines",
    "ParquetReader",
    "ParquetReading",
    "Piece",
    "ReadingStage",
    "Record",
    "TooWideError",
    "describe_other_format",
    "lines_in_range",
    "parse_line_by_line",
    "parse_lines",
    "to_columns",
    "to_table",
    "whole_lines",
]
