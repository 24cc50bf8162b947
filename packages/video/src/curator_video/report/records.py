"""Clip records: the JSON that a writer stored about each clip, kept or dropped."""

import json
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Any

from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import FileFilter, find_files
from curator_report.run_record import RunRecord


@dataclass(frozen=True)
class ClipRecord:
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
        """A stable pseudorandom number: the clips with the lowest ranks are a fair sample."""
        return blake2b(str(self.facts.get("span_uuid")).encode(), digest_size=8).digest()


def find_clips_folder(run: RunRecord) -> str:
    """Return the output folder of the run's clip writer."""
    for stage in reversed(run.facts.get("plan", [])):
        if str(stage.get("stage", "")).startswith("curator_video.writers."):
            return str(stage["options"]["path"])
    raise InputError(f"run {run.path} wrote no clips; end its pipeline with video.clip_writer")


def sample_records(records: Iterable[ClipRecord], count: int) -> list[ClipRecord]:
    """Return a fair sample, always the same one, ordered by video and time."""
    chosen = nsmallest(count, records, key=lambda record: record.rank)
    return sorted(chosen, key=lambda record: (record.video, record.start))


def read_records(
    folder: str, limit: int, storage_options: StorageOptions | None = None
) -> Iterator[ClipRecord]:
    """Yield up to `limit` clip records from a writer's output folder."""
    count = 0
    for content in _read_json_files(folder, storage_options):
        record = _parse_record(content)
        if record is not None:
            yield record
            count += 1
        if count >= limit:
            return


def _parse_record(content: bytes) -> ClipRecord | None:
    try:
        facts = json.loads(content)
        record = ClipRecord(facts)
        return record if record.end > record.start else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None  # not a clip record


def _read_json_files(folder: str, storage_options: StorageOptions | None) -> Iterator[bytes]:
    wanted = FileFilter(include=("*.json", "*.tar"))
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
