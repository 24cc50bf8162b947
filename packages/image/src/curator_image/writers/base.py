"""Base class of image writers: the files of a sample, and unique keys in each shard or folder."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, FileGroup, Rejected
from curator_core.io.filesystems import join
from curator_core.io.writers import FileWriter, json_lines
from curator_core.model.ids import fingerprint

from curator_image.image_batch import EXTENSION, IMAGE, KEY, OWN_COLUMNS, SOURCE, read_sidecars


def added_columns(table: pa.Table) -> list[str]:
    """Return the columns that are neither the image, its own columns nor sidecars."""
    known = {*OWN_COLUMNS, *read_sidecars(table.schema)}
    return [name for name in table.column_names if name not in known]


def metadata_lines(table: pa.Table) -> Sequence[bytes]:
    """Return one JSON object per row; empty bytes if no column was added."""
    names = added_columns(table)
    if not names:
        return [b""] * table.num_rows
    return b"".join(json_lines(table.select(names))).splitlines()


def merge_metadata(original: bytes | None, metadata: bytes) -> bytes | None:
    """Merge the original JSON with new values, which replace values of the same name."""
    if not metadata:
        return original
    if original is None:
        return metadata
    try:
        found: Any = json.loads(original)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return metadata
    return json.dumps(found | json.loads(metadata), ensure_ascii=False).encode()


REQUIRED_COLUMNS = (KEY, IMAGE, EXTENSION)

_MAX_KEY_SHOWN = 80
"""Maximum characters of a key in a message."""


@dataclass
class SampleWriter(FileWriter, ABC):
    """Write images unchanged, with their sidecars under the same key."""

    fans_out: ClassVar[bool | None] = False

    metadata_ending: str | None = field(default="meta.json", kw_only=True)
    """Extension of the file with the columns of stages, as JSON next to each image: `json` merges
    them into an existing .json; null leaves them out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fields is not None:
            self.fields = list(dict.fromkeys((*REQUIRED_COLUMNS, *self.fields)))

    def inputs(self) -> Sequence[str]:
        return list(dict.fromkeys((*REQUIRED_COLUMNS, *super().inputs())))

    @abstractmethod
    def write_samples(self, written: FileGroup, target: str, table: pa.Table) -> None:
        """Write rows with unique keys to `target`, a name without extension."""

    @abstractmethod
    def name_problem(self, target: str, key: str, extension: str) -> str | None:
        """Return why `target` cannot hold a file named after the key, or None."""

    def process(self, task: DocumentBatch) -> list[FileGroup | Rejected]:  # type: ignore[override]
        name = f"part-{task.task_id or fingerprint(task.to_payload())}"
        written = FileGroup([], task.dataset_name)
        rejected: list[FileGroup | Rejected] = []
        for folder, rows in self._parts(task.data):
            for number, table in enumerate(split_repeated_keys(rows), start=1):
                suffix = f"-{number}" if number > 1 else ""
                target = join(folder, f"{name}{suffix}")
                problems = self._problems(target, table)
                rejected += [reject_row(table, row, why) for row, why in problems.items()]
                writable = drop_rows(table, problems)
                if writable.num_rows:
                    self.write_samples(written, target, writable)
        return [written, *rejected]

    def _problems(self, target: str, table: pa.Table) -> dict[int, str]:
        """Return the rows that cannot be written, with the reasons; other rows are unaffected."""
        found = _find_nulls(table)
        used = _UsedNames()
        keys = table.column(KEY).to_pylist()
        for row, (key, extensions) in enumerate(zip(keys, self._extensions(table), strict=True)):
            if row in found:
                continue
            problems = (
                self.name_problem(target, key, extension) for extension in sorted(extensions)
            )
            problem = next(filter(None, problems), None)
            if problem is None and not used.add(key, extensions):
                problem = "another row has a file of the same name"
            if problem is not None:
                found[row] = f"cannot write a file named after its key: {problem}"
        return found

    def _extensions(self, table: pa.Table) -> Iterator[set[str]]:
        """Yield the extensions of each row's files."""
        selected = self._select_fields(table)
        metadata = self.metadata_ending if added_columns(selected) else None
        always = {metadata} if metadata else set()
        sidecars = {
            extension: selected.column(name).is_valid().to_pylist()
            for name, extension in read_sidecars(selected.schema).items()
        }
        for row, extension in enumerate(selected.column(EXTENSION).to_pylist()):
            present = (name for name, is_present in sidecars.items() if is_present[row])
            yield {extension, *always, *present}

    def _select_fields(self, table: pa.Table) -> pa.Table:
        return table if self.fields is None else table.select(self.fields)

    def sample_files(self, table: pa.Table) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
        """Yield for each row the key and its files, as extension and content."""
        sidecars = {
            extension: table.column(name).to_pylist()
            for name, extension in read_sidecars(table.schema).items()
        }
        metadata = metadata_lines(table) if self.metadata_ending else [b""] * table.num_rows
        keys, images, extensions = (table.column(name).to_pylist() for name in REQUIRED_COLUMNS)
        for row, key in enumerate(keys):
            files = {extension: _to_bytes(values[row]) for extension, values in sidecars.items()}
            if self.metadata_ending:
                old = files.get(self.metadata_ending)
                files[self.metadata_ending] = merge_metadata(old, metadata[row])
            files.pop(extensions[row], None)
            rest = [(extension, data) for extension, data in files.items() if data is not None]
            yield key, [(extensions[row], images[row]), *rest]


def split_repeated_keys(table: pa.Table) -> Iterator[pa.Table]:
    """Split rows into tables in which keys are unique; usually a single table."""
    keys = table.column(KEY)
    if pc.count_distinct(keys, mode="all").as_py() == table.num_rows:
        yield table
        return
    seen: dict[str, int] = {}
    turns = []
    for key in keys.to_pylist():
        seen[key] = seen.get(key, -1) + 1
        turns.append(seen[key])
    for turn in range(max(turns) + 1):
        yield table.filter(pa.array([one == turn for one in turns], pa.bool_()))


class _UsedNames:
    """The file and folder names in use in one target, to detect collisions between rows.

    Different keys can collide: `a` with a sidecar `b.jpg`, and `a.b` with the extension `jpg`.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, key: str, extensions: Collection[str]) -> bool:
        """Add the names of a row; return False and add nothing if one is in use."""
        names = {f"{key}.{extension}" for extension in extensions}
        above = {str(parent) for parent in PurePosixPath(key).parents} if "/" in key else set()
        if not (self._files.isdisjoint(names | above) and self._folders.isdisjoint(names)):
            return False
        self._files |= names
        self._folders |= above
        return True


def _find_nulls(table: pa.Table) -> dict[int, str]:
    """Return the rows with nulls in required columns."""
    columns = [table.column(name) for name in REQUIRED_COLUMNS]
    if not any(column.null_count for column in columns):
        return {}
    present = zip(*(column.is_valid().to_pylist() for column in columns), strict=True)
    return {
        row: f"it has no {REQUIRED_COLUMNS[has_value.index(False)]}"
        for row, has_value in enumerate(present)
        if not all(has_value)
    }


def drop_rows(table: pa.Table, rows: Collection[int]) -> pa.Table:
    if not rows:
        return table
    return table.filter(pa.array([row not in rows for row in range(table.num_rows)], pa.bool_()))


def reject_row(table: pa.Table, row: int, reason: str) -> Rejected:
    """Return a rejection of one row, with its picture."""
    known = table.slice(row, 1).to_pylist()[0]
    key = repr(str(known[KEY])[:_MAX_KEY_SHOWN])
    where = f"{known[SOURCE]} key {key}" if known.get(SOURCE) else f"key {key}"
    return Rejected(reason, where, payload=bytes(known[IMAGE] or b""))


def _to_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def path_problem(key: str, extension: str) -> str | None:
    """Return why the file would be outside its folder or could not be read back, or None."""
    if "\0" in key or "\0" in extension:
        return "it has a NUL byte"
    if os.path.isabs(key):
        return "it is an absolute path"
    if ".." in key and ".." in key.split("/"):
        return "it leads outside the folder (..)"
    if not key or key.endswith("/"):
        return "its last part is empty"
    return f"its extension {extension[:_MAX_KEY_SHOWN]!r} has a slash" if "/" in extension else None
