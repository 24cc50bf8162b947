"""Samples: the fields at the beginning of some files, spread from the first to the last."""

from typing import NamedTuple

from curator_core import FilePart, FilePartitioning, InputError, PipelineError
from curator_core.io.filesystems import StorageOptions, base_name
from curator_core.io.readers.jsonl import JsonlReading
from curator_core.io.readers.parquet import ParquetReading
from curator_core.reporting.figures import counted

from curator_dedup.blocks import is_parquet

_SAMPLED_FILES = 10


class Sample(NamedTuple):
    name: str
    fields: tuple[str, ...]


class Samples(list[Sample]):
    """Samples of several files, whose fields may differ."""

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys(field for sample in self for field in sample.fields))

    def with_field(self, name: str) -> Sample | None:
        """Return the first sample that has the field."""
        return next((sample for sample in self if name in sample.fields), None)

    def have_no(self) -> str:
        """Return the start of a sentence about a field that no sample has."""
        others = f" and {counted(len(self) - 1, 'more file')} have" if self[1:] else " has"
        return f"{self[0].name}{others} no such field"


def samples_of(listing: FilePartitioning, storage_options: StorageOptions | None = None) -> Samples:
    """Return samples, or none if files cannot be read: the stages that read them report why."""
    samples = Samples()
    try:
        for part in _spread(list(listing.files())):
            fields = _fields_of(part, storage_options)
            if fields:
                samples.append(Sample(base_name(part.path), fields))
    except (InputError, PipelineError, OSError):
        pass
    return samples


def _spread(files: list[FilePart]) -> list[FilePart]:
    """Return a few of the files, including the first and the last."""
    if len(files) <= _SAMPLED_FILES:
        return files
    last = _SAMPLED_FILES - 1
    return [files[place * (len(files) - 1) // last] for place in range(_SAMPLED_FILES)]


def _fields_of(part: FilePart, storage_options: StorageOptions | None) -> tuple[str, ...]:
    kind = ParquetReading if is_parquet(part.path) else JsonlReading
    reading: JsonlReading | ParquetReading = kind(storage_options=storage_options)
    return reading.sample(part)
