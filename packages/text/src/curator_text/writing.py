"""Writers of documents: core's writers, re-exported for text pipelines."""

from curator_core.io.writers import JsonlWriter, ParquetWriter

__all__ = ["JsonlWriter", "ParquetWriter"]
