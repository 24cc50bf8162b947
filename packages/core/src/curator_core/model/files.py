"""Files as tasks: paths, or byte ranges of them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from curator_core.model.tasks import Origin, Task


@dataclass(frozen=True)
class FilePart:
    """A file, or the part of it from `start` up to `end`.

    The reader defines the unit of the range: bytes for JSONL, row groups for Parquet. `end=None` is
    the end of the file. `version` changes with the file (its modification time or etag).
    """

    path: str
    size: int = 0
    version: str = ""
    start: int = 0
    end: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end is None

    def __str__(self) -> str:
        return self.path if self.is_whole else f"{self.path}[{self.start}:{self.end or ''}]"


@dataclass
class FileGroup(Task[list[FilePart]]):
    """Files that are read, or were written, together."""

    item_name = "file"

    @classmethod
    def of(cls, paths: Iterable[str], dataset_name: str = "") -> Self:
        return cls([FilePart(path) for path in paths], dataset_name)

    @property
    def paths(self) -> list[str]:
        return [part.path for part in self.data]

    @property
    def num_items(self) -> int:
        return len(self.data)

    def describe_items(self) -> list[dict[str, Any]]:
        return [{"path": str(part), "bytes": part.size} for part in self.data]

    @property
    def num_bytes(self) -> int:
        return sum(part.size for part in self.data)

    def take(self, rows: Sequence[int]) -> Self:
        return self.with_data([self.data[row] for row in rows])

    def identity(self) -> str:
        facts = [[p.path, p.size, p.version, p.start, p.end] for p in self.data]
        return json.dumps(facts, separators=(",", ":"))

    def origins(self) -> list[Origin]:
        return [Origin(p.path, f"{p.size}:{p.version}", p.start, p.end) for p in self.data]

    def to_payload(self) -> bytes:
        head = {"dataset_name": self.dataset_name, "metadata": self.metadata}
        return json.dumps({**head, "data": [asdict(part) for part in self.data]}).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        head = json.loads(payload)
        return cls(**{**head, "data": [FilePart(**part) for part in head["data"]]})
