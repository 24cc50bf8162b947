"""Samples: the fields at the beginning of the first file that has any."""

from itertools import islice
from typing import NamedTuple

from curator_core import FilePart, FilePartitioning, InputError, PipelineError
from curator_core.filesystems import StorageOptions, base_name
from curator_core.reading.jsonl import JsonlReading
from curator_core.reading.parquet import ParquetReading

from curator_dedup.blocks import is_parquet

_SAMPLED_FILES = 10


class Sample(NamedTuple):
    name: str
    fields: tuple[str, ...]


def sample_of(
    listing: FilePartitioning, storage_options: StorageOptions | None = None
) -> Sample | None:
    """None where that cannot be known; why not is told by whoever lists or reads the files."""
    try:
        for part in islice(listing.files(), _SAMPLED_FILES):
            fields = _fields_of(part, storage_options)
            if fields:
                return Sample(base_name(part.path), fields)
    except (InputError, PipelineError, OSError):
        pass
    return None


def _fields_of(part: FilePart, storage_options: StorageOptions | None) -> tuple[str, ...]:
    kind = ParquetReading if is_parquet(part.path) else JsonlReading
    reading: JsonlReading | ParquetReading = kind(storage_options=storage_options)
    return reading.sample(part)
