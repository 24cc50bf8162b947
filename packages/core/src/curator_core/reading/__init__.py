"""Readers: files become batches of documents."""

from curator_core.reading.jsonl import JsonlReader
from curator_core.reading.parquet import ParquetReader

__all__ = ["JsonlReader", "ParquetReader"]
