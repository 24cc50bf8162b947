"""Store: everything of a run that is kept on disk."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from secrets import token_hex
from typing import Any, Protocol, TypeAlias

from curator_core.errors import CuratorError
from curator_core.io.filesystems import StorageOptions
from curator_core.model.records import QuarantineRecord
from curator_core.model.tasks import StagedFile
from curator_core.plan.events import Events
from curator_core.plan.plan import Output, Plan, outputs_of
from curator_core.run.commits import (
    RETRACTED,
    Aliases,
    Commit,
    CommitHistory,
    done_entry,
    renamed_entry,
    replay_journal,
    retract_entry,
    retry_id,
)
from curator_core.run.directory import (
    RetriedRun,
    RunDirectory,
    add_usages,
    check_same_plan,
    check_same_stages,
    describe_run,
    run_token,
    summarize_files,
)
from curator_core.run.events import EventFile
from curator_core.run.journal import Journal, open_journal
from curator_core.run.ledger import Group
from curator_core.run.locks import Lock, lock_run_directory
from curator_core.run.outputs import Publisher, claim_outputs, would_remove_files
from curator_core.run.permissions import RunDirectoryDeletedError
from curator_core.run.quarantine import Quarantine
from curator_core.run.result import RunResult
from curator_core.run.snapshot import LatestSnapshotFile
from curator_core.run.sources import Source
from curator_core.run.worker_logs import WorkerLogs

Closed: TypeAlias = tuple[Group, list[Source]]
"""A group of sources that finished together, and these sources."""


class RunStore(Protocol):
    """Records which sources are done, and publishes their output."""

    token: str
    run_dir: str | None

    def attach_to(self, events: Events) -> None: ...

    @property
    def history(self) -> CommitHistory: ...

    def begin(self) -> None:
        """Start the run: its description replaces that of an earlier run."""
        ...

    def note_renamed(self, names: Mapping[str, str], sources: Aliases) -> None: ...

    def retract(self, commit: Commit) -> list[Commit]: ...

    def commit(self, closed: Sequence[Closed]) -> None: ...

    def quarantined(self) -> list[QuarantineRecord]: ...

    def keep_worker_output(self, worker_id: str, text: str) -> None: ...

    def check(self) -> None: ...

    def finish(self, result: RunResult) -> None: ...

    def close(self) -> None: ...


class NoStore:
    """The keeper of pipelines that write nothing: their result is their output tasks."""

    def __init__(self) -> None:
        self.run_dir: str | None = None
        self.token = token_hex(6)
        self.history = CommitHistory()

    def attach_to(self, events: Events) -> None:
        pass

    def begin(self) -> None:
        pass

    def note_renamed(self, names: Mapping[str, str], sources: Aliases) -> None:
        pass

    def retract(self, commit: Commit) -> list[Commit]:
        return []

    def commit(self, closed: Sequence[Closed]) -> None:
        pass

    def quarantined(self) -> list[QuarantineRecord]:
        return []

    def keep_worker_output(self, worker_id: str, text: str) -> None:
        pass

    def check(self) -> None:
        pass

    def finish(self, result: RunResult) -> None:
        pass

    def close(self) -> None:
        pass


class DirectoryStore:
    """Keeps a run in its directory: lock, journal, quarantine, events, run.json."""

    def __init__(  # noqa: PLR0913 - independent options
        self,
        plan: Plan,
        run_dir: str,
        *,
        executor: str,
        resume: bool = True,
        allow_changed_stages: bool = False,
        storage_options: StorageOptions | None = None,
        prepare: Callable[[], None] | None = None,
        shared: bool = False,
    ) -> None:
        """Open or resume the run in `run_dir`.

        `mended` allows stages to have changed, but requires the same stages in the same order.
        Without `storage_options`, those of an output in or near the run directory are used.
        `prepare` is called before output of an earlier run is removed, and may raise to prevent
        that.
        """
        self.run_dir: str | None = run_dir
        self._plan = plan
        self._closed = False
        self._next_check = 0.0
        self._allow_changed_stages = allow_changed_stages
        self._retried: RetriedRun | None = None
        self._earlier_usages: dict[str, Any] = {}
        self._outputs = outputs_of(plan)
        self._options = dict(storage_options or options_for(run_dir, self._outputs))
        self.token = run_token(run_dir, self._options)
        self.history = CommitHistory()
        self._directory = RunDirectory(run_dir, self._options)
        self._directory.create(self._outputs, shared=shared)
        self._lock: Lock = lock_run_directory(run_dir, self._options)
        try:
            self._claim(resume, prepare)
            self._open(executor)
        except BaseException:
            self._lock.release()
            raise

    def _claim(self, resume: bool, prepare: Callable[[], None] | None) -> None:
        """Start over, unless there is an earlier run to resume."""
        if self._earlier_run(resume) is not None:
            return
        own = [] if resume else self._own_files()
        takes_away = self._directory.facts() is not None or would_remove_files(self._outputs)
        claim_outputs(self._outputs, self._directory.forget, own, prepare if takes_away else None)

    def _open(self, executor: str) -> None:
        self._journal: Journal = open_journal(self.run_dir or "", self._options)
        self._publisher = Publisher(self._outputs, self.token)
        self._quarantine = Quarantine(self.run_dir or "", self._options)
        self._events = EventFile(self.run_dir or "", self._options)
        self._latest = LatestSnapshotFile(self.run_dir or "", self._options)
        self._worker_logs = WorkerLogs(self.run_dir or "", self._options)
        try:
            self._facts = describe_run(self._plan, executor)
            if self._retried is not None:
                self._facts = self._retried.while_retrying(self._facts)
            if self._directory.facts() is None:
                self.begin()
            self.history, unfinished = replay_journal(self._journal)
            self._publisher.refuse_outside(unfinished, self.run_dir or "")
            self._publisher.refuse_outside(_files_in_journal(self.history), self.run_dir or "")
            self._recover(unfinished)
        except BaseException:
            self._journal.close()
            self._events.close()
            raise

    def _own_files(self) -> list[str]:
        """Return the files that the run being replaced had published."""
        if self._directory.facts() is None:
            return []
        journal = open_journal(self.run_dir or "", self._options)
        try:
            history, _ = replay_journal(journal)
        finally:
            journal.close()
        Publisher(self._outputs, "").refuse_outside(_files_in_journal(history), self.run_dir or "")
        return [file.final for commit in history.all() for file in commit.files]

    def _earlier_run(self, resume: bool) -> dict[str, Any] | None:
        """Return the facts of an earlier run if this one resumes it."""
        facts = self._directory.facts()
        if self._allow_changed_stages:
            check_same_stages(facts or {}, self._plan, self.run_dir or "")
            self._retried = RetriedRun(facts or {})
            return facts or {}
        if facts is None or not resume:
            return None
        starts_over = any(output.mode == "overwrite" for output in self._outputs)
        if starts_over and facts.get("fingerprint") != self._plan.fingerprint:
            return None
        check_same_plan(facts, self._plan, self.run_dir or "")
        self._earlier_usages = (facts.get("result") or {}).get("usages", {})
        return facts

    def _recover(self, unfinished: list[str]) -> None:
        """Finish what a killed run had started, and retract commits whose files are missing."""
        if unfinished:
            self._publisher.retract(unfinished)
            self._journal.append(RETRACTED, durable=False)
        for commit in self.history.all():
            if not commit.done:
                self._publish_again(commit)
        missing = [c for c in self.history.all() if not all(map(self._publisher.is_there, c.files))]
        for commit in missing:
            self.retract(commit)
        self._recover_quarantine()
        self._publisher.clear_staging()

    def _publish_again(self, commit: Commit) -> None:
        """Publish staged files. Files neither staged nor published count as missing later."""
        for file in commit.files:
            if self._publisher.is_staged(file):
                self._publisher.publish([file])
        commit.done = True
        self._journal.append(done_entry(commit), durable=False)

    def _recover_quarantine(self) -> None:
        """Remove records of commits that were never made, and of tasks that were retried."""
        leaders = {commit.sources[0] for commit in self.history.all()}
        for group_id in self._quarantine.groups():
            if group_id not in leaders:
                self._quarantine.remove(group_id)
        for record in list(self._quarantine.records()):
            if retry_id(record) in self.history:
                self._settle(record)

    # During the run

    def begin(self) -> None:
        self._directory.write(self._facts)
        self._directory.keep_recipe(self._plan.recipe)

    def note_renamed(self, names: Mapping[str, str], sources: Aliases) -> None:
        """Record renamed files, so that they are not processed again."""
        self._journal.append(renamed_entry(names, sources))

    def attach_to(self, events: Events) -> None:
        events.listen(self._events)
        events.listen(self._latest, "snapshot")

    def retract(self, commit: Commit) -> list[Commit]:
        """Retract a commit and the commits bound to it; return all of them."""
        if not self.history.is_valid(commit):  # retracted together with another one
            return []
        retracted = [*self.history.dependents_of(commit), commit]
        for one in retracted:
            self._journal.append(retract_entry(one))
            self.history.forget(one)
            self._publisher.retract(file.final for file in one.files)
            self._quarantine.remove(one.sources[0])
            self._journal.append(RETRACTED, durable=False)
        return retracted

    def commit(self, closed: Sequence[Closed]) -> None:
        """Write the journal, publish, confirm; resuming recovers from a crash in between."""
        self._check_directory()
        commits = [_commit_of(group, sources) for group, sources in closed]
        for commit, (group, _) in zip(commits, closed, strict=True):
            if group.account.quarantined:
                self._quarantine.add(commit.sources[0], group.account.quarantined)
        self._journal.append_all([commit.to_entry() for commit in commits])
        for commit in commits:
            self._publisher.publish(commit.files)
        self._refuse_unknown(commits)
        self._journal.append_all([done_entry(commit) for commit in commits], durable=False)
        for commit, (_, sources) in zip(commits, closed, strict=True):
            self.history.add(commit)
            for source in sources:
                if source.replaces:
                    self._settle(source.replaces)

    def _refuse_unknown(self, commits: Iterable[Commit]) -> None:
        """Retract the published files if the journal that lists them was deleted."""
        try:
            self._journal.check()
        except RunDirectoryDeletedError:
            for commit in commits:
                self._publisher.retract(file.final for file in commit.files)
            raise

    def quarantined(self) -> list[QuarantineRecord]:
        return list(self._quarantine.records())

    def keep_worker_output(self, worker_id: str, text: str) -> None:
        self._worker_logs.add(worker_id, text)

    def sweep_quarantine(self) -> None:
        """Remove payloads that no quarantined record refers to."""
        self._quarantine.sweep()

    def _settle(self, record: QuarantineRecord) -> None:
        commit = self.history.commits.get(record.source_id)
        if commit is not None:
            self._quarantine.settle(commit.sources[0], record)

    def check(self) -> None:
        """Check the run directory, at most every 0.5 s: its file system may be on a network."""
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + _CHECK_EVERY_S
            self._check_directory()

    def _check_directory(self) -> None:
        """Raise if the run directory was deleted, or if another process took it over."""
        self._lock.check()
        self._journal.check()

    def finish(self, result: RunResult) -> None:
        """Write the result and the manifests, which list committed files even if interrupted."""
        self._check_directory()
        self._latest.clear()
        self._publisher.clear_staging()
        files = self._files()
        result.files = sorted(file.final for file in files if not file.dropped)
        result.dropped_files = sorted(file.final for file in files if file.dropped)
        result.quarantined = self.quarantined()
        self._publisher.write_manifests(self._plan.name, files)
        if self._retried is not None:
            self._retried.add_to(result)
        described = result.to_json()
        if self._retried is None:
            usages = add_usages(self._earlier_usages, result.usages)
            described["usages"] = {name: usage.to_json() for name, usage in usages.items()}
        ending = {
            "status": result.status,
            "ended": time.time(),
            "result": described,
            "written": {"sources": self.history.roots(), **summarize_files(result)},
        }
        if self._retried is not None:
            ending = self._retried.after(ending, result)
            self._facts.pop("status_before", None)
        try:
            self._directory.write({**self._facts, **ending})
        except (OSError, CuratorError):  # a full disk: the status matters more than the usage
            ending["result"] = {**result.to_json(), "usages": {}}
            self._directory.write({**self._facts, "needs": {}, **ending})

    def close(self) -> None:
        """Release the lock and close all files; may be called repeatedly."""
        if self._closed:
            return
        self._closed = True
        self._journal.close()
        self._events.close()
        self._worker_logs.close()
        self._lock.release()

    def _files(self) -> list[StagedFile]:
        return [file for commit in self.history.all() for file in commit.files]


_CHECK_EVERY_S = 0.5


def _files_in_journal(history: CommitHistory) -> Iterator[str]:
    """Yield every file that the journal would move or delete."""
    for commit in history.all():
        for file in commit.files:
            yield file.staged
            yield file.final


def _commit_of(group: Group, sources: list[Source]) -> Commit:
    return Commit(
        sources=sorted(group.credit),
        origins={source.source_id: source.origins for source in sources},
        files=list(group.files),
        counts=group.account.counts,
        lost=group.lost,
    )


def options_for(run_dir: str, outputs: list[Output]) -> dict[str, Any]:
    """Return the storage options of the output that contains the run directory or is nearest."""
    inside = [output for output in outputs if run_dir.startswith(output.folder)]
    beside = [output for output in outputs if _protocol(output.folder) == _protocol(run_dir)]
    return next((output.storage_options for output in (*inside, *beside)), {})


def _protocol(path: str) -> str:
    return path.partition("://")[0] if "://" in path else ""
