"""Writing: what writers of pictures share: the files of a sample, and no key twice in one place."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.documents import DocumentBatch
from curator_core.errors import InputError
from curator_core.files import FileGroup
from curator_core.filesystems import join
from curator_core.lineage import fingerprint
from curator_core.writing.stages import FileWriter

from curator_image.batches import EXTENSION, IMAGE, KEY
from curator_image.describing import descriptions, merged
from curator_image.sidecars import sidecars_in

NEEDED = (KEY, IMAGE, EXTENSION)


@dataclass
class SampleWriter(FileWriter, ABC):
    """Writes images as they came, byte for byte, with what lay beside them under the same key."""

    metadata_ending: str | None = field(default="meta.json", kw_only=True)
    """The file beside each image that gets the columns of stages, as JSON: `json` adds them to the
    .json that was there, null leaves them out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fields is not None:
            self.fields = list(dict.fromkeys((*NEEDED, *self.fields)))

    def inputs(self) -> Sequence[str]:
        return list(dict.fromkeys((*NEEDED, *super().inputs())))

    @abstractmethod
    def write_samples(self, written: FileGroup, place: str, table: pa.Table) -> None:
        """Write rows of different keys to `place`, a name without an ending."""

    def process(self, task: DocumentBatch) -> FileGroup:
        check_pictures(task)
        name = f"part-{task.task_id or fingerprint(task.to_payload())}"
        written = FileGroup([], task.dataset_name)
        for folder, rows in self._parts(task.data):
            for number, table in enumerate(without_repeats(rows), start=1):
                again = f"-{number}" if number > 1 else ""
                self.write_samples(written, join(folder, f"{name}{again}"), table)
        return written

    def sample_files(self, table: pa.Table) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
        """Of each row the key, and the files to write: what each one's name ends in, and bytes."""
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
    """The rows, so that no key stands twice in one table: nearly always one table."""
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


def check_pictures(task: DocumentBatch) -> None:
    """A missing key or image is told before half of a file is written."""
    for name in NEEDED:
        if task.data.column(name).null_count:
            row = task.data.column(name).to_pylist().index(None)
            raise InputError(f"row {row} has no {name}; set such rows aside before writing")


def _as_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def is_safe(key: str) -> bool:
    """Whether a key names something below a folder, and nothing else."""
    parts = key.split("/")
    return (
        bool(key)
        and "\0" not in key
        and not os.path.isabs(key)
        and not {"", ".", ".."} & set(parts)
    )
