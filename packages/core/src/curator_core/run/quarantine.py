"""Quarantine: failed tasks and records, kept for inspection and retries."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from curator_core.io.atomic_write import explain_write_errors
from curator_core.io.filesystems import base_name, is_local, join, open_filesystem
from curator_core.model.ids import fingerprint
from curator_core.model.records import QuarantineRecord
from curator_core.model.secrets import redact
from curator_core.run.journal import from_line, to_line
from curator_core.run.permissions import make_private_folder, replace_run_file

INLINE_BYTES = 4096

_BYTES = ("payload", "subtask")
_TEXTS = ("reason", "detail", "where", "source")


class StoredRecord(QuarantineRecord):
    """A record that loads its large payloads on access, because there may be many records."""

    def __init__(self, facts: dict[str, Any], load: Mapping[str, Callable[[], bytes]]) -> None:
        super().__init__(**facts)
        object.__setattr__(self, "_load", load)

    def __getattribute__(self, name: str) -> Any:
        if name in _BYTES and name in (load := object.__getattribute__(self, "_load")):
            return load[name]()
        return object.__getattribute__(self, name)

    @property
    def can_be_retried(self) -> bool:
        if not self.whole_task:
            return bool(self.subtask_id)
        return "payload" in object.__getattribute__(self, "_load") or self.payload is not None


class Quarantine:
    """The quarantine folder: one file of records per commit, and separate large payloads."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, path = open_filesystem(run_dir, storage_options)
        self._folder = join(path, "quarantine")

    def add(self, group_id: str, records: list[QuarantineRecord]) -> None:
        """Store the records of one group of sources; replaces earlier ones of that group."""
        with explain_write_errors(self._folder):
            if is_local(self._fs):
                make_private_folder(self._folder)
            else:
                self._fs.makedirs(self._folder, exist_ok=True)
            self._put(f"{group_id}.jsonl", b"".join(self._line(record) for record in records))

    def records(self) -> Iterator[QuarantineRecord]:
        for group_id in self.groups():
            for _, facts in self._lines(group_id):
                yield self._record(facts)

    def groups(self) -> list[str]:
        """Return the ids of groups that have records."""
        return sorted(name.removesuffix(".jsonl") for name in self._names(".jsonl"))

    def remove(self, group_id: str) -> None:
        path = self._path(group_id)
        if self._fs.exists(path):
            self._fs.rm_file(path)

    def settle(self, group_id: str, settled: QuarantineRecord) -> None:
        """Remove a retried record; a new failure is stored under the retry's own id."""
        lines = list(self._lines(group_id))
        left = [line for line, facts in lines if not _is_same(facts, settled)]
        if not left:
            self.remove(group_id)
        elif len(left) < len(lines):
            with explain_write_errors(self._folder):
                self._put(f"{group_id}.jsonl", b"".join(left))

    def sweep(self) -> None:
        """Remove payloads that no record refers to."""
        used = {
            facts.get(f"{name}_file")
            for group_id in self.groups()
            for _, facts in self._lines(group_id)
            for name in _BYTES
        }
        for name in self._names(".payload"):
            if name not in used:
                self._fs.rm_file(join(self._folder, name))

    def _names(self, ending: str) -> list[str]:
        if not self._fs.isdir(self._folder):
            return []
        names = [base_name(name) for name in self._fs.ls(self._folder, detail=False)]
        return [name for name in names if name.endswith(ending)]

    def _lines(self, group_id: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Yield the lines of a group's file, raw and parsed."""
        path = self._path(group_id)
        if self._fs.exists(path):
            for line in self._fs.cat_file(path).splitlines(keepends=True):
                yield line, from_line(line)

    def _path(self, group_id: str) -> str:
        return join(self._folder, f"{group_id}.jsonl")

    def _line(self, record: QuarantineRecord) -> bytes:
        facts = {field.name: getattr(record, field.name) for field in fields(QuarantineRecord)}
        facts |= {name: redact(facts[name]) for name in _TEXTS}
        for name in _BYTES:
            content = facts.pop(name)
            if content is not None and len(content) <= INLINE_BYTES:
                facts[name] = base64.b64encode(content).decode()
            elif content is not None:
                file = facts[f"{name}_file"] = f"{fingerprint(content)}.payload"
                self._put(file, content)
        return to_line(facts)

    def _record(self, facts: dict[str, Any]) -> QuarantineRecord:
        load = {}
        for name in _BYTES:
            if name in facts:
                facts[name] = base64.b64decode(facts[name])
            elif f"{name}_file" in facts:
                load[name] = self._loader(facts.pop(f"{name}_file"))
        return StoredRecord(facts, load) if load else QuarantineRecord(**facts)

    def _loader(self, name: str) -> Callable[[], bytes]:
        path = join(self._folder, name)
        return lambda: bytes(self._fs.cat_file(path))

    def _put(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        path = join(self._folder, name)
        if not is_local(self._fs):
            self._fs.pipe_file(path, content)
            return
        replace_run_file(path, content, durable=True)


def _is_same(facts: Mapping[str, Any], settled: QuarantineRecord) -> bool:
    """Whether a stored record was retried, or was rejected together with a retried one."""
    subtask_id = facts.get("subtask_id", "")
    if (facts["task_id"], facts["stage_index"]) != (settled.task_id, settled.stage_index):
        return False
    if settled.whole_task:
        return bool(facts.get("whole_task", True))
    return bool(subtask_id) and subtask_id == settled.subtask_id
