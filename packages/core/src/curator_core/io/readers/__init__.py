"""Readers: turn files into batches of documents."""

from curator_core.io.readers.jsonl import JsonlReader
from curator_core.io.readers.parquet import ParquetReader

__all__ = ["JsonlReader", "ParquetReader"]
