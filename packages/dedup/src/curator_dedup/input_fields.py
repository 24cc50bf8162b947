"""Fields of the input: sample which fields files have, and count documents without a field."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curator_core import FilePart, FilePartitioning, InputError, PipelineError
from curator_core.io.filesystems import StorageOptions, base_name
from curator_core.io.readers import JsonlReading, ParquetReading
from curator_core.model.formatting import count, counted

from curator_dedup.passes.list import is_parquet

_SAMPLED_FILES = 10
_MISSING = "missing field: "


class FileFields(NamedTuple):
    """The fields at the beginning of a file."""

    name: str
    fields: tuple[str, ...]


class SampledFields(list[FileFields]):
    """The fields of several files, which may differ."""

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys(field for file in self for field in file.fields))

    def file_with(self, name: str) -> FileFields | None:
        """Return the first file that has the field."""
        return next((file for file in self if name in file.fields), None)

    def no_such_field(self) -> str:
        """Return the start of a sentence about a field that no sampled file has."""
        others = f" and {counted(len(self) - 1, 'more file')} have" if self[1:] else " has"
        return f"{self[0].name}{others} no such field"


def sample_fields(
    listing: FilePartitioning, storage_options: StorageOptions | None = None
) -> SampledFields:
    """Return the fields of files spread from the first to the last.

    Return none if files cannot be read: the stages that read them report why.
    """
    sampled = SampledFields()
    try:
        for part in _spread(list(listing.files())):
            fields = _fields_of(part, storage_options)
            if fields:
                sampled.append(FileFields(base_name(part.path), fields))
    except (InputError, PipelineError, OSError):
        pass
    return sampled


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


class MissingFields(Counter[str]):
    """Number of documents without the field, by file; convertible to a folder's counts and back."""

    def to_counts(self) -> dict[str, int]:
        return {f"{_MISSING}{path}": number for path, number in self.items() if number}

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> "MissingFields":
        return cls({
            name.removeprefix(_MISSING): number
            for name, number in counts.items() if name.startswith(_MISSING)
        })  # fmt: skip

    def describe(self, field: str, documents: int, fields: Sequence[str]) -> str:
        """Return a sentence; `fields` are those of the file with the most such documents."""
        [(worst, number)] = self.most_common(1)
        others = f" and {counted(len(self) - 1, 'more file')}" if len(self) > 1 else ""
        instead = f" (its fields: {', '.join(fields)})" if fields else ""
        have, are = ("has", "counts") if self.total() == 1 else ("have", "count")
        return (
            f"{count(self.total())} of {counted(documents, 'document')} {have} no field {field!r} "
            f"and {are} as empty: {count(number)} in {worst}{instead}{others}"
        )
