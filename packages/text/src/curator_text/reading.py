"""Readers of documents: core's own, under the names that text pipelines look for."""

from curator_core.io.readers import JsonlReader, ParquetReader

__all__ = ["JsonlReader", "ParquetReader"]
