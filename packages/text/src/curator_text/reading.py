"""Readers of documents: core's readers, re-exported for text pipelines."""

from curator_core.io.readers import JsonlReader, ParquetReader

__all__ = ["JsonlReader", "ParquetReader"]
