"""Commits: what the journal records about earlier attempts, and which sources are done."""

import json
import zlib
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from curator_core.logs import log
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.tasks import Origin, StagedFile
from curator_core.run.journal import Entry

LOG = log()

Aliases: TypeAlias = Sequence[tuple[Sequence[str], Sequence[str]]]
"""New source ids, each group with the earlier ids that cover the same parts of files."""


@dataclass
class Commit:
    """Sources that were published together."""

    sources: list[str]
    origins: dict[str, list[Origin]]
    files: list[StagedFile] = field(default_factory=list)
    counts: dict[int, StageCounts] = field(default_factory=dict)
    lost: bool = False
    done: bool = False
    compressed: bytes = b""
    """The counts if they are large: there may be a million commits, most never read again."""

    def compress_counts(self) -> None:
        """Compress counts with scores, metrics or contents to save memory."""
        if any(one.scores or one.metrics or one.contents for one in self.counts.values()):
            facts = {index: counts.to_json() for index, counts in self.counts.items()}
            self.compressed, self.counts = zlib.compress(json.dumps(facts).encode(), 1), {}

    def account(self) -> dict[int, StageCounts]:
        """Return the counts, also compressed ones."""
        if not self.compressed:
            return self.counts
        facts = json.loads(zlib.decompress(self.compressed))
        return {int(index): StageCounts.from_json(counts) for index, counts in facts.items()}

    def to_entry(self) -> Entry:
        return {
            "event": "commit",
            "sources": self.sources,
            "origins": {
                source: [[o.name, o.version, o.start, o.end] for o in origins]
                for source, origins in self.origins.items()
                if origins
            },
            "files": [[f.staged, f.final, f.items, f.size, f.dropped] for f in self.files],
            "counts": {str(index): counts.to_json() for index, counts in self.account().items()},
            "lost": self.lost,
        }

    @classmethod
    def from_entry(cls, entry: Entry) -> "Commit":
        return cls(
            sources=entry["sources"],
            origins={s: [Origin(*facts) for facts in o] for s, o in entry["origins"].items()},
            files=[StagedFile(*facts) for facts in entry["files"]],
            counts={int(i): StageCounts.from_json(c) for i, c in entry["counts"].items()},
            lost=entry["lost"],
        )


class CommitHistory:
    """The valid commits, by source and by the files that the sources were read from."""

    def __init__(self) -> None:
        self.commits: dict[str, Commit] = {}
        self._by_name: dict[str, dict[str, list[Origin]]] = {}
        self._retries: dict[str, set[str]] = {}
        self._aliases: dict[str, list[str]] = {}
        self._aliases_of: dict[str, list[str]] = {}

    def __contains__(self, source_id: str) -> bool:
        return all(known in self.commits for known in self.committed_ids(source_id))

    def committed_ids(self, source_id: str) -> list[str]:
        """Return the ids under which a source was committed: old ones after a rename."""
        if source_id in self.commits:
            return [source_id]
        return self._aliases.get(source_id) or [source_id]

    def is_alias(self, source_id: str) -> bool:
        return source_id not in self.commits and source_id in self._aliases

    def aliases_of(self, source_id: str) -> Sequence[str]:
        """Return the new ids of a source whose files were renamed since it was committed."""
        return self._aliases_of.get(source_id, ())

    @property
    def names(self) -> KeysView[str]:
        """The names of all files that committed sources were read from."""
        return self._by_name.keys()

    def origins_in(self, name: str) -> Iterator[Origin]:
        """Yield the parts of a file that committed sources were read from."""
        return (origin for found in self._by_name[name].values() for origin in found)

    def sources_of(self, name: str) -> list[str]:
        """Return the sources that contain parts of a file."""
        return list(self._by_name[name])

    def origins_of(self, source_id: str) -> list[Origin]:
        commit = self.commits.get(source_id)
        return commit.origins.get(source_id, []) if commit else []

    def rename(self, names: Mapping[str, str], sources: Aliases) -> None:
        """Apply renamed files, which change the ids of their sources."""
        for old, new in names.items():
            for source in self._by_name.pop(old, {}):
                found = self.commits[source].origins[source]
                found[:] = [replace(o, name=new) if o.name == old else o for o in found]
                self._by_name.setdefault(new, {})[source] = [o for o in found if o.name == new]
        for new_ids, old_ids in sources:
            if all(old in self.commits for old in old_ids):
                self._drop_aliases(old_ids)
                self._aliases |= {new: list(old_ids) for new in new_ids}
                self._aliases_of |= {old: list(new_ids) for old in old_ids}

    def _drop_aliases(self, source_ids: Iterable[str]) -> None:
        for old in source_ids:
            for new in self._aliases_of.pop(old, ()):
                for other in self._aliases.pop(new, ()):
                    self._aliases_of.pop(other, None)

    def add(self, commit: Commit) -> None:
        commit.compress_counts()
        for source in commit.sources:
            self.commits[source] = commit
            if is_retry(source):
                self._retries.setdefault(root_of(source), set()).add(source)
            for origin in commit.origins.get(source, ()):
                self._by_name.setdefault(origin.name, {}).setdefault(source, []).append(origin)

    def forget(self, commit: Commit) -> None:
        self._drop_aliases(commit.sources)
        for source in commit.sources:
            self.commits.pop(source, None)
            self._retries.get(root_of(source), set()).discard(source)
            for origin in commit.origins.get(source, ()):
                found = self._by_name.get(origin.name, {})
                found.pop(source, None)
                if not found:
                    self._by_name.pop(origin.name, None)

    def forget_sources(self, sources: Iterable[str]) -> None:
        for commit in [self.commits[source] for source in sources if source in self.commits]:
            self.forget(commit)

    def is_valid(self, commit: Commit) -> bool:
        return self.commits.get(commit.sources[0]) is commit

    def confirm(self, source: str) -> None:
        """Record that the files of this source's commit were published."""
        if source in self.commits:
            self.commits[source].done = True

    def roots(self) -> int:
        """Return the number of sources that are done, not counting retries of parts of them."""
        return len({root_of(source) for source in self.commits})

    def all(self) -> list[Commit]:
        return list({id(commit): commit for commit in self.commits.values()}.values())

    def dependents_of(self, commit: Commit) -> list[Commit]:
        """Return commits that must be retracted with this one.

        These are retries of failures in its sources, and commits of sources that now share a source
        with them.
        """
        found: dict[int, Commit] = {id(commit): commit}
        waiting = [commit]
        while waiting:
            for source in waiting.pop().sources:
                new = next(iter(self._aliases_of.get(source, ())), "")
                for other in (*sorted(self._retries.get(source, ())), *self._aliases.get(new, ())):
                    if id(mate := self.commits[other]) not in found:
                        found[id(mate)] = mate
                        waiting.append(mate)
        return list(found.values())[1:]

    def superseded(self, origins: Iterable[Origin]) -> list[Commit]:
        """Return commits made from an earlier version, or other ranges, of these files."""
        found: dict[int, Commit] = {}
        for origin in origins:
            for source, earlier in self._by_name.get(origin.name, {}).items():
                if any(origin.clashes(other) for other in earlier):
                    commit = self.commits[source]
                    found[id(commit)] = commit
        return list(found.values())


def is_retry(source_id: str) -> bool:
    return "-" in source_id


def root_of(source_id: str) -> str:
    """Return the source that a retried task came from; for other sources, the source itself."""
    return source_id.partition("-")[0]


def retry_id(record: QuarantineRecord) -> str:
    """Return the source id of a retry of this task: a new one after every failure."""
    task = f"{record.subtask_id or record.task_id}@{record.stage_index}"
    root, _, retried = record.source_id.partition("-")
    before, _, number = retried.rpartition("-")
    return f"{root}-{task}-{int(number) + 1 if before == task else 0}"


class ReadableJournal(Protocol):
    """The part of a journal that is needed for reading."""

    def entries(self) -> Iterator[Entry]: ...


def replay_journal(journal: ReadableJournal) -> tuple[CommitHistory, list[str]]:
    """Replay a journal: return the memory, and the files of unfinished retractions."""
    history = CommitHistory()
    to_retract: dict[str, None] = {}
    for entry in journal.entries():
        try:
            _replay(entry, history, to_retract)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            LOG.warning("skipping an invalid entry of the journal: %r", error)
    return history, list(to_retract)


def _replay(entry: Entry, history: CommitHistory, to_retract: dict[str, None]) -> None:
    kind = entry["event"]
    if kind == "commit":
        commit = Commit.from_entry(entry)
        history.add(commit)
        for file in commit.files:  # the file was written again: keep it
            to_retract.pop(file.final, None)
    elif kind == "done":
        history.confirm(entry["source"])
    elif kind == "retract":
        history.forget_sources(entry["sources"])
        to_retract |= dict.fromkeys(entry["files"])
    elif kind == "retracted":
        to_retract.clear()
    elif kind == "renamed":
        history.rename(dict(entry["names"]), entry["sources"])


def done_entry(commit: Commit) -> Entry:
    return {"event": "done", "source": commit.sources[0]}


def retract_entry(commit: Commit) -> dict[str, Any]:
    files = [file.final for file in commit.files]
    return {"event": "retract", "sources": commit.sources, "files": files}


def renamed_entry(names: Mapping[str, str], sources: Aliases) -> Entry:
    return {"event": "renamed", "names": list(names.items()), "sources": list(sources)}


RETRACTED: Entry = {"event": "retracted"}
