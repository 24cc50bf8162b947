"""Writers of documents: core's own, under the names that text pipelines look for."""

from curator_core.io.writers import JsonlWriter, ParquetWriter

__all__ = ["JsonlWriter", "ParquetWriter"]
