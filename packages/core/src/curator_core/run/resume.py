"""Resume: which listed sources are left to do, and whose output must be retracted.

Output made from an earlier version of an input is retracted. Sources published together with it are
run again, so that no record is duplicated or missing. If an input was only renamed, its output
stays. If inputs were removed but their output exists, the run stops before it writes anything,
unless the policy is to delete or keep that output. An exception are inputs that another run wrote
and then retracted: output made from them is retracted too.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator

from curator_core.run.commits import Aliases, Commit, is_retry, root_of
from curator_core.run.input_changes import (
    STOP,
    InputPolicy,
    Removal,
    find_renames,
    match_sources,
    states,
)
from curator_core.run.outputs import RetractedFiles
from curator_core.run.result import RunResult
from curator_core.run.sources import Listing, Source
from curator_core.run.store import RunStore


class RemainingSources:
    """Compares a listing with what earlier attempts have done."""

    def __init__(
        self,
        listing: Listing,
        store: RunStore,
        result: RunResult,
        policy: InputPolicy = STOP,
    ) -> None:
        self.retracted: list[Commit] = []
        self.missing = 0
        self.renamed = 0
        self._listing = listing
        self._store = store
        self._history = store.history
        self._result = result
        self._policy = policy
        self._has_history = bool(store.history.commits)
        """If false, nothing can be retracted, so listed sources need not be remembered."""
        self._listed_ahead: deque[Source] | None = None
        self._listed: set[str] = set()
        self._skipped: dict[str, Source] = {}
        """Skipped sources by id that may have to run again because of other sources."""
        self._skipped_as: dict[str, list[str]] = {}
        """Ids of skipped sources, by the ids under which they were committed."""
        self._retracted_files = RetractedFiles(listing.storage_options)

    def list_ahead(self) -> None:
        """List all sources before anything is written, if earlier output was made from files.

        Raise RemovedInputsError if input files were removed and the policy does not allow it.
        """
        if not (self._listing.lists_all and self._history.names):
            return
        removed = set(self._history.names)
        new: list[Source] = []
        left: dict[str, Source] = {}
        for source in self._listing:
            removed.difference_update(origin.name for origin in source.origins)
            if not self._is_done(source):
                left[source.source_id] = source
            elif any(origin.name not in self._history.names for origin in source.origins):
                new.append(source)  # the file was renamed back
        removed = {
            n for n in removed if not self._policy.owns(n) and n not in self._retracted_files
        }
        renamed = self._find_renames(removed, [*new, *left.values()])
        removed -= renamed.keys()
        kept = removed if self._policy.removed == "keep" else set()
        if removed:
            names = {origin.name for source in left.values() for origin in source.origins}
            self._refuse(sorted(removed), sorted(names - self._history.names - {*renamed.values()}))
        again = self._claimed_twice()
        aliases = self._match(renamed, kept, left)
        self._refuse_losing_kept(kept, left.values())
        if renamed or aliases:
            self._store.note_renamed(renamed, aliases)
        if removed and not kept and self._listed:
            again += self._commits_of(removed)
        left |= {source.source_id: source for source in self._retract(again)}
        self._listed_ahead = deque(left.values())

    def remaining(self) -> Generator[Source, None, None]:
        for source in self._sources_left():
            if source.replaces is not None or not self._has_history:
                yield source
                continue
            clashing = self._history.superseded(source.origins)
            yield from self._retract(commit for commit in clashing if self._is_old(commit))
            yield source
        if self._listing.lists_all and self._listed:  # else a disk may be unmounted
            yield from self._retract(list(self._made_of_retracted()))
            self.missing = sum(
                not is_retry(source) and source not in self._listed
                for source in self._history.commits
            )

    def notes(self) -> Iterator[str]:
        """Yield notes for the user about earlier output."""
        if self.renamed:
            sources = f"{self.renamed} source{'s' * (self.renamed != 1)}"
            yield f"skipped {sources}: only their input files were renamed"
        if self.retracted:
            taken = sum(len(commit.sources) for commit in self.retracted)
            yield (
                f"retracted the output of {taken} source{'s' * (taken != 1)}: "
                "their inputs have changed"
            )
        if self.missing:
            yield (
                f"inputs of {self.missing} earlier source{'s' * (self.missing != 1)} "
                "no longer exist: their output was kept"
            )

    def _sources_left(self) -> Iterator[Source]:
        if self._listed_ahead is not None:
            while self._listed_ahead:
                yield self._listed_ahead.popleft()
            return
        for source in self._listing:
            if source.replaces is not None or not (self._has_history and self._is_done(source)):
                yield source

    def _is_done(self, source: Source) -> bool:
        """Record that a source is listed; return whether it is done and can be skipped."""
        known = self._history.committed_ids(source.source_id)
        self._listed.update(known)
        self._listed.add(source.source_id)
        if source.source_id not in self._history:
            return False
        self._result.sources_skipped += 1
        for one in known:
            is_shared = len(self._history.commits[one].sources) > 1
            if is_shared or len(known) > 1 or self._history.aliases_of(one):
                self._skipped[source.source_id] = source
                self._skipped_as.setdefault(one, []).append(source.source_id)
        return True

    def _find_renames(self, removed: set[str], new: list[Source]) -> dict[str, str]:
        if not removed:
            return {}
        names = self._history.names
        origins = (origin for source in new for origin in source.origins)
        return find_renames(
            states(origin for name in removed for origin in self._history.origins_in(name)),
            states(origin for origin in origins if origin.name not in names),
        )

    def _claimed_twice(self) -> list[Commit]:
        """Return commits of sources that are listed under both their old and their new id."""
        return [
            self._history.commits[known]
            for known, listed in self._skipped_as.items()
            if known in listed and any(map(self._history.is_alias, listed))
        ]

    def _match(self, renamed: dict[str, str], kept: set[str], left: dict[str, Source]) -> Aliases:
        """Skip sources that were done under other file names; return the new aliases."""
        self._history.rename(renamed, ())
        if self._policy.depends_on_names or not (renamed or kept):
            return []
        meant = {s for name in (*renamed.values(), *kept) for s in self._history.sources_of(name)}
        troubled = {record.source_id for record in self._store.quarantined()}
        unlisted = self._history.commits.keys() - self._listed
        old = {s: self._history.origins_of(s) for s in unlisted if not is_retry(s)}
        new = {source.source_id: source.origins for source in left.values()}
        aliases = [
            (news, olds)
            for news, olds in match_sources(old, new, kept)
            if meant.intersection(olds) and not troubled.intersection(olds)
        ]
        self._history.rename({}, aliases)
        for source_id in (source_id for news, _ in aliases for source_id in news):
            self._is_done(left.pop(source_id))
            self.renamed += 1
        return aliases

    def _refuse(self, removed: list[str], new: list[str]) -> None:
        """Raise unless the policy covers the output of removed files."""
        policy = self._policy
        if policy.removed == "keep":
            return
        commits = {name: self._with_dependents(self._commits_of([name])) for name in removed}
        blocking = [name for name, found in commits.items() if any(c.files for c in found)]
        if not blocking:
            return
        together = {id(c): c for name in blocking for c in commits[name]}.values()
        files = sorted(file.final for commit in together for file in commit.files)
        known = (source for commit in together for source in commit.sources)
        redone = {listed for one in known for listed in self._skipped_as.get(one, ())}
        removal = Removal(blocking, new, files, len(redone), self._result.run_dir or "")
        if not self._listed:
            raise removal.refuse_empty()
        if policy.removed == "stop":
            raise removal.refuse()
        if not policy.confirmed:
            raise removal.preview()

    def _refuse_losing_kept(self, kept: set[str], left: Iterable[Source]) -> None:
        """Raise if a source to be run would retract output that is to be kept."""
        if not kept:
            return
        kept_commits = {id(c) for c in self._with_dependents(self._commits_of(kept)) if c.files}
        clashing = (c for s in left for c in self._history.superseded(s.origins) if self._is_old(c))
        if any(id(commit) in kept_commits for commit in clashing):
            raise Removal(sorted(kept), (), (), 0, self._result.run_dir or "").refuse_keeping()

    def _commits_of(self, names: Iterable[str]) -> list[Commit]:
        sources = dict.fromkeys(s for name in names for s in self._history.sources_of(name))
        return list({id(c): c for c in (self._history.commits[s] for s in sources)}.values())

    def _with_dependents(self, commits: Iterable[Commit]) -> list[Commit]:
        found = (
            other for commit in commits for other in (commit, *self._history.dependents_of(commit))
        )
        return list({id(commit): commit for commit in found}.values())

    def _made_of_retracted(self) -> Iterator[Commit]:
        for commit in self._history.all():
            for source in commit.sources:
                origins = commit.origins.get(source, ())
                if source not in self._listed and any(
                    o.name in self._retracted_files for o in origins
                ):
                    yield commit
                    break

    def _is_old(self, commit: Commit) -> bool:
        needed = ((root_of(s), *self._history.aliases_of(s)) for s in commit.sources)
        return not all(source in self._listed for sources in needed for source in sources)

    def _retract(self, commits: Iterable[Commit]) -> Iterator[Source]:
        """Retract commits; yield skipped sources that have to run again because of that."""
        for commit in list(commits):
            taken = self._store.retract(commit)
            self.retracted += taken
            known = (source_id for one in taken for source_id in one.sources)
            for source_id in (listed for one in known for listed in self._skipped_as.pop(one, ())):
                if (source := self._skipped.pop(source_id, None)) is not None:
                    self._result.sources_skipped -= 1
                    yield source
