"""The files of a dataset that a run wrote: splits, sizes and columns."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_core import DocumentBatch, JsonlReader, LocalExecutor, ParquetReader, Pipeline
from curator_core.errors import CuratorError, InputError
from curator_core.io.filesystems import base_name, join, open_filesystem

from curator_report.run_record import RunRecord

if TYPE_CHECKING:
    import pyarrow as pa

SPLITS = {
    "train": "train", "training": "train", "validation": "validation", "valid": "validation",
    "val": "validation", "dev": "validation", "test": "test", "eval": "test",
}  # fmt: skip
"""Names of folders that are splits, and what they are called on a dataset card."""

_ENDING = re.compile(r"(\.(?:jsonl|json|parquet|csv|tar|txt|mp4|flac|wav|mp3|ogg|jpg|png|webp)"
                     r"(?:\.(?:gz|zst|bz2|xz))?)$")  # fmt: skip
_MANIFEST = "_manifest.json"
Entry: TypeAlias = Mapping[str, Any]
"""A file in a manifest: its name, items and bytes."""


@dataclass(frozen=True)
class Split:
    """A split of a dataset. `pattern` matches its files, relative to the dataset's folder."""

    name: str
    pattern: str
    records: int
    file_bytes: int


@dataclass(frozen=True)
class DatasetFiles:
    """The output of a run, as a dataset."""

    splits: Sequence[Split]
    schema: "pa.Schema | None"
    """The columns, if the files are tables."""

    @property
    def records(self) -> int:
        return sum(split.records for split in self.splits)

    @property
    def file_bytes(self) -> int:
        return sum(split.file_bytes for split in self.splits)


def dataset_files(record: RunRecord) -> DatasetFiles:
    """Return the dataset of a run. Folders named like splits become splits of their own."""
    listed = {folder: entries for folder in record.folders if (entries := _entries(folder))}
    if not listed:
        raise InputError(
            f"run {record.name} wrote no dataset: there are no files in its output folders"
        )
    ending = _most_common_ending(listed)
    files = {
        folder: [entry for entry in listed[folder] if str(entry["file"]).endswith(ending)]
        for folder in sorted(listed)
    }
    first = next(join(folder, str(entry["file"])) for folder in files for entry in files[folder])
    return DatasetFiles(_splits(files, ending), _schema(first, ending))


def _splits(files: Mapping[str, Sequence[Entry]], ending: str) -> list[Split]:
    names = [SPLITS.get(base_name(folder), "") for folder in files]
    if len(files) > 1 and all(names) and len(set(names)) == len(names):
        found = [
            _split(name, f"{base_name(folder)}/*{ending}", entries)
            for name, (folder, entries) in zip(names, files.items(), strict=True)
        ]
        return sorted(found, key=lambda split: list(SPLITS.values()).index(split.name))
    pattern = f"**/*{ending}" if len(files) > 1 else f"*{ending}"
    return [_split("train", pattern, [entry for entries in files.values() for entry in entries])]


def _split(name: str, pattern: str, entries: Sequence[Entry]) -> Split:
    records, file_bytes = (sum(int(entry[key]) for entry in entries) for key in ("items", "bytes"))
    return Split(name, pattern, records, file_bytes)


def _entries(folder: str) -> list[Entry]:
    """Return the data files in a folder, from the manifest that each run leaves."""
    fs, root = open_filesystem(folder)
    try:
        entries = json.loads(fs.cat_file(join(root, _MANIFEST)))["files"]
    except (OSError, ValueError, KeyError):
        return []
    return [entry for entry in entries if _ENDING.search(str(entry["file"]))]


def _most_common_ending(listed: Mapping[str, Sequence[Entry]]) -> str:
    """Return the ending of most bytes: besides its data, a writer may leave small tables."""
    sizes: Counter[str] = Counter()
    for entries in listed.values():
        for entry in entries:
            if found := _ENDING.search(str(entry["file"])):
                sizes[found[1]] += int(entry["bytes"]) + 1
    return sizes.most_common(1)[0][0]


def _schema(path: str, ending: str) -> "pa.Schema | None":
    """Return the columns of the first records of a file."""
    if not ending.startswith((".parquet", ".jsonl")):
        return None
    reader = (ParquetReader if ending.startswith(".parquet") else JsonlReader)(file_paths=[path])
    pipeline = Pipeline("columns", stages=[reader], samples=False)
    try:
        with pipeline.stream(LocalExecutor(workers=0), progress=False) as stream:
            batch = next(stream, None)
    except CuratorError:
        return None
    return batch.data.schema if isinstance(batch, DocumentBatch) else None
