"""Writers: turn batches of documents into files."""

from curator_core.io.atomic_write import Draft, open_draft
from curator_core.io.writers.base import FileWriter, Mode
from curator_core.io.writers.dropped import REASON_COLUMN, STAGE_COLUMN, DroppedFiles
from curator_core.io.writers.jsonl import JsonlWriter, json_lines
from curator_core.io.writers.parquet import ParquetWriter

__all__ = [
    "REASON_COLUMN",
    "STAGE_COLUMN",
    "Draft",
    "DroppedFiles",
    "FileWriter",
    "JsonlWriter",
    "Mode",
    "ParquetWriter",
    "json_lines",
    "open_draft",
]
