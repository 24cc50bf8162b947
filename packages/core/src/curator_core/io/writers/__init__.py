"""Writers: turn batches of documents into files."""

from curator_core.io.writers.jsonl import JsonlWriter
from curator_core.io.writers.parquet import ParquetWriter

__all__ = ["JsonlWriter", "ParquetWriter"]
