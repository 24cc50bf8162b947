"""Reading run directories, without ever changing them."""

import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from curator_core import QuarantineRecord, RunResult, StageCounts
from curator_core.errors import InputError, ResumeError
from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.model.formatting import count, counted
from curator_core.model.node_usage import NodeUsage
from curator_core.model.snapshot import RunSnapshot
from curator_core.model.usage import Usage
from curator_core.run.commits import replay_journal, root_of
from curator_core.run.directory import RunDirectory, summarize_files
from curator_core.run.journal import from_line, parsed_lines
from curator_core.run.locks import STALE_AFTER_S
from curator_core.run.quarantine import Quarantine
from curator_core.run.snapshot import read_latest

from curator_report.history import History, read_history


@dataclass(frozen=True)
class RunRecord:
    """The contents of a run directory; also valid while the run is running."""

    path: str
    name: str
    state: str
    facts: dict[str, Any]
    result: RunResult
    history: History
    folders: dict[str, int]
    """Number of files written to each folder."""
    dropped_folders: dict[str, int]
    """Number of files of dropped records written to each folder."""
    statistics: list[str]
    """Files in which stages wrote statistics of the data."""

    latest: RunSnapshot | None = None
    """The latest snapshot of a running run."""

    @property
    def last_progress(self) -> float | None:
        """Return the time of the last progress: a single source may take hours."""
        times = (self.history.last_progress, self.latest and self.latest.last_progress)
        return max((when for when in times if when), default=None)

    @property
    def total(self) -> int | None:
        """Return the number of sources, or None until all are listed."""
        latest = self.latest
        if latest is None or latest.left is None:
            return None
        return latest.done + latest.skipped + latest.open + latest.left

    @property
    def done(self) -> str:
        """Return `12 of 200 sources done`, or `12 sources done` while the total is unknown."""
        sources, total = self.result.sources_done, self.total
        of = counted(sources if total is None else total, "source")
        return f"{of} done" if total is None else f"{count(sources)} of {of} done"

    @property
    def rate(self) -> float:
        """Return sources per second: of the last minute while running, else of the last attempt."""
        return self.history.rate(time.time(), is_running=self.state == "running")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "executor": self.facts.get("executor"),
            "started": self.facts.get("started"),
            "ended": self.facts.get("ended"),
            "last_progress": self.last_progress,
            "sources_per_second": round(self.rate, 3),
            "sources_in_all": self.total,
            **self.result.to_json(),
        }


def read_run(path: str, *, in_short: bool = False) -> RunRecord:
    """Read everything in a run directory.

    `in_short` leaves out file names, of which there may be millions.
    """
    facts = RunDirectory(path).facts()
    if facts is None:
        raise InputError(f"{path} is not a run directory: it has no run.json")
    history = read_history(path)
    state = _state(path, facts)
    result = (
        _summary_result(path, facts) if in_short and "written" in facts else _result(path, facts)
    )
    result.seconds = history.seconds(time.time() if state == "running" else history.last)
    latest = read_latest(path) if state == "running" else None
    if latest is not None:
        _add_latest(result, latest)
    written = facts.get("written") if in_short else None
    written = written or summarize_files(result)
    name = str(facts.get("name", "run"))
    return RunRecord(
        path,
        name,
        state,
        facts,
        result,
        history,
        folders=written["folders"],
        dropped_folders=written.get("dropped_folders", {}),
        statistics=written["statistics"],
        latest=latest,
    )


def state_of(path: str) -> str:
    """Return the state of a run without reading its journal."""
    return _state(path, RunDirectory(path).facts() or {})


def _result(path: str, facts: dict[str, Any]) -> RunResult:
    """Return the result from the journal: a run that was killed has not written one."""
    recorded: dict[str, Any] = facts.get("result") or {}
    commits = replay_journal(_ReadOnlyJournal(path))[0].all()
    names = [stage["name"] for stage in facts.get("plan", [])]
    stages = {name: StageCounts() for name in names}
    for commit in commits:
        for index, counts in commit.account().items():
            stages[names[index]].add(counts)
    files = [file for commit in commits for file in commit.files]
    result = RunResult(
        stages=stages,
        status=str(facts.get("status", "running")),
        sources_done=len({root_of(source) for commit in commits for source in commit.sources}),
        quarantined=_quarantined(path),
        files=sorted(file.final for file in files if not file.dropped),
        dropped_files=sorted(file.final for file in files if file.dropped),
        run_dir=path,
    )
    _add_recorded(result, recorded)
    return result


def _summary_result(path: str, facts: dict[str, Any]) -> RunResult:
    """Return the result as the run itself wrote it at its end."""
    result = RunResult(
        status=str(facts.get("status", "running")),
        sources_done=facts["written"]["sources"],
        quarantined=_quarantined(path),
        run_dir=path,
    )
    _add_recorded(result, facts["result"])
    return result


def _add_recorded(result: RunResult, recorded: dict[str, Any]) -> None:
    result.stages |= {n: StageCounts.from_json(c) for n, c in recorded.get("stages", {}).items()}
    result.usages = {n: Usage.from_json(u) for n, u in recorded.get("usages", {}).items()}
    result.nodes = {n: NodeUsage.from_json(u) for n, u in recorded.get("nodes", {}).items()}
    result.worker_restarts = dict(recorded.get("worker_restarts", {}))
    result.is_complete = bool(recorded.get("is_complete", False))
    result.notes = list(recorded.get("notes", []))


def _add_latest(result: RunResult, latest: RunSnapshot) -> None:
    """Add what stages have done so far, including unfinished sources."""
    for stage in latest.stages:
        if settled := result.stages.get(stage.name):
            newest = max(settled, stage.counts, key=lambda counts: counts.tasks_in)
            result.stages[stage.name] = replace(
                newest, scores=settled.scores, contents=settled.contents
            )
            result.usages[stage.name] = stage.usage
    result.nodes = dict(latest.nodes)
    result.worker_restarts = dict(latest.restarts)


def _quarantined(path: str) -> list[QuarantineRecord]:
    try:
        return list(Quarantine(path).records())
    except (OSError, ValueError) as error:
        raise ResumeError(f"the quarantine of {path} cannot be read: {error}") from error


class _ReadOnlyJournal:
    """A read-only journal: opening it as a run does would repair its last line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def entries(self) -> Iterator[dict[str, Any]]:
        fs, root = open_filesystem(self._path)
        folder = join(root, "journal")
        if not fs.isdir(folder):
            yield from _lines(self._path, "journal.jsonl")
            return
        for name in sorted(fs.ls(folder, detail=False)):
            yield from parsed_lines(fs.cat_file(name), name)

    def append(self, entry: dict[str, Any], *, durable: bool = True) -> None:
        raise AssertionError(f"nothing is written to the journal of {self._path} from here")

    def close(self) -> None:
        pass


def _lines(path: str, name: str) -> Iterator[dict[str, Any]]:
    fs, root = open_filesystem(path)
    where = join(root, name)
    try:
        content = fs.cat_file(where)
    except FileNotFoundError:
        return
    yield from parsed_lines(content, where)


def _state(path: str, facts: dict[str, Any]) -> str:
    """Return `done`, `failed`, …; `dead` if the run says it is running but was killed."""
    status = str(facts.get("status", "running"))
    if status != "running":
        return status
    fs, root = open_filesystem(path)
    held = _is_held(join(root, "lock")) if is_local(fs) else _is_renewed(fs, root)
    return "running" if held else "dead"


def _is_held(lock: str) -> bool:
    """Return whether a process holds the lock."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _is_renewed(fs: Any, root: str) -> bool:
    """Return whether the lock of a run on an object store was renewed recently."""
    try:
        renewed = float(from_line(fs.cat_file(join(root, "lock")))["renewed"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return time.time() - renewed < STALE_AFTER_S
