"""The quarantine: what could not be processed, written down whole so that it can be tried again."""

import base64
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import orjson

from curator_core.filesystems import base_name, is_local, join, open_filesystem
from curator_core.lineage import fingerprint
from curator_core.results import QuarantineRecord
from curator_core.secrets import redact

INLINE_BYTES = 4096


class Quarantine:
    """A folder: one file for the records of each commit, and the larger payloads beside them."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, path = open_filesystem(run_dir, storage_options)
        self._folder = join(path, "quarantine")

    def add(self, group_id: str, records: list[QuarantineRecord]) -> None:
        """Keep the records of one group of sources; once more replaces them."""
        self._fs.makedirs(self._folder, exist_ok=True)
        lines = b"".join(self._line(record) for record in records)
        self._put(f"{group_id}.jsonl", lines)

    def records(self) -> Iterator[QuarantineRecord]:
        for name in self._names():
            for line in self._lines(name):
                yield self._record(orjson.loads(line))

    def remove(self, group_id: str) -> None:
        path = join(self._folder, f"{group_id}.jsonl")
        if self._fs.exists(path):
            self._fs.rm_file(path)

    def settle(self, settled: QuarantineRecord, by: str) -> None:
        """Take out a record that was retried; what became of it stands under `by`."""
        for name in self._names():
            records = [self._record(orjson.loads(line)) for line in self._lines(name)]
            left = [r for r in records if not _is_same(r, settled)]
            group_id = base_name(name).removesuffix(".jsonl")
            if len(left) == len(records) or group_id == by:
                continue
            if left:
                self.add(group_id, left)
            else:
                self._fs.rm_file(name)

    def _lines(self, name: str) -> list[bytes]:
        return list(self._fs.cat_file(name).splitlines())

    def _names(self) -> list[str]:
        if not self._fs.isdir(self._folder):
            return []
        return sorted(n for n in self._fs.ls(self._folder, detail=False) if n.endswith(".jsonl"))

    def _line(self, record: QuarantineRecord) -> bytes:
        facts = asdict(record)
        payload = facts.pop("payload")
        facts |= {name: redact(facts[name]) for name in ("reason", "detail", "where", "source")}
        if payload is not None and len(payload) <= INLINE_BYTES:
            facts["payload"] = base64.b64encode(payload).decode()
        elif payload is not None:
            facts["payload_file"] = f"{fingerprint(payload)}.payload"
            self._put(facts["payload_file"], payload)
        return orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE)

    def _record(self, facts: dict[str, Any]) -> QuarantineRecord:
        payload = None
        if "payload" in facts:
            payload = base64.b64decode(facts.pop("payload"))
        if "payload_file" in facts:
            payload = self._fs.cat_file(join(self._folder, facts.pop("payload_file")))
        return QuarantineRecord(**facts, payload=payload)

    def _put(self, name: str, content: bytes) -> None:
        """Whole or not at all: under another name first, where renaming is safe."""
        path = join(self._folder, name)
        if not is_local(self._fs):
            self._fs.pipe_file(path, content)
            return
        with self._fs.open(f"{path}.tmp", "wb") as file:
            file.write(content)
        self._fs.mv(f"{path}.tmp", path)


def _is_same(one: QuarantineRecord, other: QuarantineRecord) -> bool:
    return (one.task_id, one.stage_index) == (other.task_id, other.stage_index) and one.whole_task
