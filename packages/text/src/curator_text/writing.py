"""Writers of documents: core's own, under the names that text pipelines look for."""

from curator_core.writing import JsonlWriter, ParquetWriter

__all__ = ["JsonlWriter", "ParquetWriter"]
