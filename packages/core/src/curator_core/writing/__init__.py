"""Writers: batches of documents become files."""

from curator_core.writing.jsonl import JsonlWriter
from curator_core.writing.parquet import ParquetWriter

__all__ = ["JsonlWriter", "ParquetWriter"]
