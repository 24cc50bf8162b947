"""Clip records: the JSON that a writer stored about each clip, kept or dropped."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import Wanted, find_files


@dataclass(frozen=True)
class Record:
    """The stored facts of one clip."""

    facts: dict[str, Any]

    @property
    def video(self) -> str:
        return str(self.facts.get("source_video", ""))

    @property
    def start(self) -> float:
        return float(self.facts["duration_span"][0])

    @property
    def end(self) -> float:
        return float(self.facts["duration_span"][1])

    @property
    def scores(self) -> dict[str, Any]:
        return dict(self.facts.get("scores") or {})

    @property
    def dropped_by(self) -> str | None:
        filtered = self.facts.get("filtered")
        return str(filtered["stage"]) if filtered else None

    @property
    def reason(self) -> str:
        filtered = self.facts.get("filtered")
        return str(filtered["reason"]) if filtered else ""

    @property
    def rank(self) -> bytes:
        """A pseudorandom but stable number: the clips with the lowest ranks are a fair sample."""
        return blake2b(str(self.facts.get("span_uuid")).encode(), digest_size=8).digest()


def records_in(
    folder: str, most: int, storage_options: StorageOptions | None = None
) -> Iterator[Record]:
    """Yield up to `most` clip records from a writer's output folder."""
    given = 0
    for content in _pages(folder, storage_options):
        record = _record(content)
        if record is not None:
            yield record
            given += 1
        if given >= most:
            return


def _record(content: bytes) -> Record | None:
    try:
        facts = json.loads(content)
        record = Record(facts)
        return record if record.end > record.start else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None  # not a clip record


def _pages(folder: str, storage_options: StorageOptions | None) -> Iterator[bytes]:
    wanted = Wanted(include=("*.json", "*.tar"))
    try:
        files = [file.path for file in find_files([folder], wanted, storage_options)]
    except InputError:
        return
    for path in files:
        with open_input(path, storage_options) as file:
            if path.endswith(".json"):
                yield file.read()
                continue
            with tarfile.open(fileobj=file, mode="r|") as tar:
                yield from (
                    page.read()
                    for member in tar
                    if member.name.endswith(".json") and (page := tar.extractfile(member))
                )
