"""Image writers: the files of a sample, and unique keys in each shard or folder."""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.io.filesystems import join
from curator_core.io.writers.base import FileWriter
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.lineage import fingerprint
from curator_core.model.tasks import Rejected

from curator_image.batches import EXTENSION, IMAGE, KEY, SOURCE
from curator_image.describing import described_columns, descriptions, merged
from curator_image.sidecars import sidecars_in

NEEDED = (KEY, IMAGE, EXTENSION)

_SHOWN = 80
"""Maximum characters of a key in a message."""


@dataclass
class SampleWriter(FileWriter, ABC):
    """Write images unchanged, with their sidecars under the same key."""

    fans_out: ClassVar[bool | None] = False

    metadata_ending: str | None = field(default="meta.json", kw_only=True)
    """Extension of the file with the columns of stages, as JSON beside each image: `json` merges
    them into an existing .json; null leaves them out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fields is not None:
            self.fields = list(dict.fromkeys((*NEEDED, *self.fields)))

    def inputs(self) -> Sequence[str]:
        return list(dict.fromkeys((*NEEDED, *super().inputs())))

    @abstractmethod
    def write_samples(self, written: FileGroup, place: str, table: pa.Table) -> None:
        """Write rows with unique keys to `place`, a name without extension."""

    @abstractmethod
    def name_problem(self, place: str, key: str, ending: str) -> str | None:
        """Return why `place` cannot hold a file named after the key, or None."""

    def process(self, task: DocumentBatch) -> list[FileGroup | Rejected]:  # type: ignore[override]
        name = f"part-{task.task_id or fingerprint(task.to_payload())}"
        written = FileGroup([], task.dataset_name)
        rejected: list[FileGroup | Rejected] = []
        for folder, rows in self._parts(task.data):
            for number, table in enumerate(without_repeats(rows), start=1):
                again = f"-{number}" if number > 1 else ""
                place = join(folder, f"{name}{again}")
                problems = self._problems(place, table)
                rejected += [rejected_row(table, row, why) for row, why in problems.items()]
                fine = without_rows(table, problems)
                if fine.num_rows:
                    self.write_samples(written, place, fine)
        return [written, *rejected]

    def _problems(self, place: str, table: pa.Table) -> dict[int, str]:
        """Return the rows that cannot be written, with the reasons; other rows are unaffected."""
        found = _incomplete(table)
        taken = _Names()
        keys = table.column(KEY).to_pylist()
        for row, (key, endings) in enumerate(zip(keys, self._endings(table), strict=True)):
            if row in found:
                continue
            problems = (self.name_problem(place, key, ending) for ending in sorted(endings))
            problem = next(filter(None, problems), None)
            if problem is None and not taken.add(key, endings):
                problem = "another row has a file of the same name"
            if problem is not None:
                found[row] = f"cannot write a file named after its key: {problem}"
        return found

    def _endings(self, table: pa.Table) -> Iterator[set[str]]:
        """Yield the extensions of each row's files."""
        chosen = self._chosen(table)
        described = self.metadata_ending if described_columns(chosen) else None
        always = {described} if described else set()
        beside = {
            ending: chosen.column(name).is_valid().to_pylist()
            for name, ending in sidecars_in(chosen.schema).items()
        }
        for row, extension in enumerate(chosen.column(EXTENSION).to_pylist()):
            yield {extension, *always, *(ending for ending in beside if beside[ending][row])}

    def _chosen(self, table: pa.Table) -> pa.Table:
        return table if self.fields is None else table.select(self.fields)

    def sample_files(self, table: pa.Table) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
        """Yield for each row the key and its files, as extension and content."""
        beside = {
            ending: table.column(name).to_pylist()
            for name, ending in sidecars_in(table.schema).items()
        }
        described = descriptions(table) if self.metadata_ending else [b""] * table.num_rows
        keys, images, extensions = (table.column(name).to_pylist() for name in NEEDED)
        for row, key in enumerate(keys):
            files = {ending: _as_bytes(values[row]) for ending, values in beside.items()}
            if self.metadata_ending:
                old = files.get(self.metadata_ending)
                files[self.metadata_ending] = merged(old, described[row])
            files.pop(extensions[row], None)
            rest = [(ending, data) for ending, data in files.items() if data is not None]
            yield key, [(extensions[row], images[row]), *rest]


def without_repeats(table: pa.Table) -> Iterator[pa.Table]:
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


class _Names:
    """The file and folder names in use in one place, to detect collisions between rows.

    Different keys can collide: `a` with a sidecar `b.jpg`, and `a.b` with the extension `jpg`.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, key: str, endings: Collection[str]) -> bool:
        """Add the names of a row; return False and add nothing if one is in use."""
        names = {f"{key}.{ending}" for ending in endings}
        above = {str(parent) for parent in PurePosixPath(key).parents} if "/" in key else set()
        if not (self._files.isdisjoint(names | above) and self._folders.isdisjoint(names)):
            return False
        self._files |= names
        self._folders |= above
        return True


def _incomplete(table: pa.Table) -> dict[int, str]:
    """Return the rows with nulls in required columns."""
    columns = [table.column(name) for name in NEEDED]
    if not any(column.null_count for column in columns):
        return {}
    present = zip(*(column.is_valid().to_pylist() for column in columns), strict=True)
    return {
        row: f"it has no {NEEDED[whole.index(False)]}"
        for row, whole in enumerate(present)
        if not all(whole)
    }


def without_rows(table: pa.Table, rows: Collection[int]) -> pa.Table:
    if not rows:
        return table
    return table.filter(pa.array([row not in rows for row in range(table.num_rows)], pa.bool_()))


def rejected_row(table: pa.Table, row: int, reason: str) -> Rejected:
    """Return a rejection of one row, with its picture."""
    known = table.slice(row, 1).to_pylist()[0]
    key = repr(str(known[KEY])[:_SHOWN])
    where = f"{known[SOURCE]} key {key}" if known.get(SOURCE) else f"key {key}"
    return Rejected(reason, where, payload=bytes(known[IMAGE] or b""))


def _as_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def path_problem(key: str, ending: str) -> str | None:
    """Return why the file would be outside its folder or could not be read back, or None."""
    if "\0" in key or "\0" in ending:
        return "it has a NUL byte"
    if os.path.isabs(key):
        return "it is an absolute path"
    if ".." in key and ".." in key.split("/"):
        return "it leads out of the folder (..)"
    if not key or key.endswith("/"):
        return "its last part is empty"
    return f"its ending {ending[:_SHOWN]!r} has a slash" if "/" in ending else None
