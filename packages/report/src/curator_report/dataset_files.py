"""The files of a dataset that a run wrote: splits, sizes and columns."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core import DocumentBatch, JsonlReader, LocalExecutor, ParquetReader, Pipeline
from curator_core.errors import CuratorError, InputError
from curator_core.io.filesystems import base_name, join, open_filesystem, parent_of

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


@dataclass(frozen=True)
class Split:
    """A split of a dataset. `pattern` matches its files, relative to the dataset's folder."""

    name: str
    pattern: str
    records: int
    file_bytes: int


@dataclass(frozen=True)
class DatasetFiles:
    """What a run wrote, as a dataset in one folder."""

    folder: str
    splits: Sequence[Split]
    ending: str
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
    folder = _common_folder(list(listed))
    is_split = all(base_name(one) in SPLITS for one in listed)
    folder = parent_of(folder) if is_split and len(listed) == 1 else folder
    groups: dict[str, list[str]] = {}
    for one in sorted(listed):
        groups.setdefault(SPLITS[base_name(one)] if is_split else "train", []).append(one)
    splits = []
    for name, folders in groups.items():
        files = [entry for one in folders for entry in listed[one] if _ends(entry, ending)]
        below = base_name(folders[0]) if is_split else ""
        inner = "" if is_split or list(listed) == [folder] else "**"
        splits.append(
            Split(
                name,
                "/".join(part for part in (below, inner, f"*{ending}") if part),
                sum(int(entry["items"]) for entry in files),
                sum(int(entry["bytes"]) for entry in files),
            )
        )
    ordered = sorted(splits, key=lambda split: list(SPLITS.values()).index(split.name))
    first = next(join(one, str(entry["file"])) for one in listed for entry in listed[one]
                 if _ends(entry, ending))  # fmt: skip
    return DatasetFiles(folder, ordered, ending, _schema(first, ending))


def _entries(folder: str) -> list[Mapping[str, Any]]:
    """Return the files in a folder, from the manifest that each run leaves."""
    fs, root = open_filesystem(folder)
    try:
        entries = json.loads(fs.cat_file(join(root, _MANIFEST)))["files"]
    except (OSError, ValueError, KeyError):
        return []
    return [entry for entry in entries if _ENDING.search(str(entry["file"]))]


def _ends(entry: Mapping[str, Any], ending: str) -> bool:
    return str(entry["file"]).endswith(ending) and not str(entry["file"]).startswith(".")


def _most_common_ending(listed: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the ending of most bytes: besides its data, a writer may leave small tables."""
    sizes: Counter[str] = Counter()
    for entries in listed.values():
        for entry in entries:
            if found := _ENDING.search(str(entry["file"])):
                sizes[found[1]] += int(entry["bytes"]) + 1
    return sizes.most_common(1)[0][0]


def _common_folder(folders: Sequence[str]) -> str:
    """Return the deepest folder that contains all of these."""
    common = folders[0].rstrip("/")
    while common and not all(f"{one.rstrip('/')}/".startswith(f"{common}/") for one in folders):
        common = parent_of(common)
    return common


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
