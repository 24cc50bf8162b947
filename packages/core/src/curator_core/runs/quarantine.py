"""The quarantine: what could not be processed, written down whole so that it can be tried again."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from curator_core.filesystems import base_name, is_local, join, open_filesystem
from curator_core.lineage import fingerprint
from curator_core.results import QuarantineRecord
from curator_core.runs.lines import from_line, to_line
from curator_core.runs.permissions import make_private_folder, replace_run_file
from curator_core.secrets import redact
from curator_core.staging import explained

INLINE_BYTES = 4096


class StoredRecord(QuarantineRecord):
    """A record whose payload stays in its file until somebody asks for it: there may be many."""

    def __init__(self, facts: dict[str, Any], load: Callable[[], bytes]) -> None:
        super().__init__(**facts)
        object.__setattr__(self, "_load", load)

    def __getattribute__(self, name: str) -> Any:
        if name == "payload":
            return object.__getattribute__(self, "_load")()
        return object.__getattribute__(self, name)


class Quarantine:
    """A folder: one file for the records of each commit, and the larger payloads beside them."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, path = open_filesystem(run_dir, storage_options)
        self._folder = join(path, "quarantine")

    def add(self, group_id: str, records: list[QuarantineRecord]) -> None:
        """Keep the records of one group of sources; once more replaces them."""
        with explained(self._folder):
            if is_local(self._fs):
                make_private_folder(self._folder)
            else:
                self._fs.makedirs(self._folder, exist_ok=True)
            self._put(f"{group_id}.jsonl", b"".join(self._line(record) for record in records))

    def records(self) -> Iterator[QuarantineRecord]:
        for group_id in self.groups():
            yield from self._records(group_id)

    def groups(self) -> list[str]:
        """Under whose name something is kept."""
        if not self._fs.isdir(self._folder):
            return []
        names = [base_name(name) for name in self._fs.ls(self._folder, detail=False)]
        return sorted(name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))

    def remove(self, group_id: str) -> None:
        path = self._path(group_id)
        if self._fs.exists(path):
            self._fs.rm_file(path)

    def settle(self, group_id: str, settled: QuarantineRecord) -> None:
        """Take out a record that was retried; what became of it stands under the retry's name."""
        records = list(self._records(group_id))
        left = [record for record in records if not _is_same(record, settled)]
        if not left:
            self.remove(group_id)
        elif len(left) < len(records):
            self.add(group_id, left)

    def _records(self, group_id: str) -> Iterator[QuarantineRecord]:
        path = self._path(group_id)
        if self._fs.exists(path):
            for line in self._fs.cat_file(path).splitlines():
                yield self._record(from_line(line))

    def _path(self, group_id: str) -> str:
        return join(self._folder, f"{group_id}.jsonl")

    def _line(self, record: QuarantineRecord) -> bytes:
        facts = asdict(record)
        payload = facts.pop("payload")
        facts |= {name: redact(facts[name]) for name in ("reason", "detail", "where", "source")}
        if payload is not None and len(payload) <= INLINE_BYTES:
            facts["payload"] = base64.b64encode(payload).decode()
        elif payload is not None:
            facts["payload_file"] = f"{fingerprint(payload)}.payload"
            self._put(facts["payload_file"], payload)
        return to_line(facts)

    def _record(self, facts: dict[str, Any]) -> QuarantineRecord:
        if "payload_file" in facts:
            path = join(self._folder, facts.pop("payload_file"))
            return StoredRecord(facts, lambda: bytes(self._fs.cat_file(path)))
        if "payload" in facts:
            facts["payload"] = base64.b64decode(facts["payload"])
        return QuarantineRecord(**facts)

    def _put(self, name: str, content: bytes) -> None:
        """Whole or not at all: under another name first, where renaming is safe."""
        path = join(self._folder, name)
        if not is_local(self._fs):
            self._fs.pipe_file(path, content)
            return
        replace_run_file(path, content, durable=True)


def _is_same(one: QuarantineRecord, other: QuarantineRecord) -> bool:
    return (one.task_id, one.stage_index) == (other.task_id, other.stage_index) and one.whole_task
