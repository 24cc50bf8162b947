"""Reviewing: which listed sources are left to do, and whose output has to go.

Output is taken back where it was made of an earlier state of an input. What was published together
with it is made again, so that nothing is there twice or missing. Output of an input that is gone
stays: raw data is often cleared away, and that must never cost what was made of it. But a file
that another run wrote and has taken back was no data at all: what was made of it goes too.
"""

from collections.abc import Generator, Iterable, Iterator

from curator_core.results import RunResult
from curator_core.runs.keeping import Keeper
from curator_core.runs.listing import Listing, Source
from curator_core.runs.memory import Commit, is_retry, root_of
from curator_core.runs.outputs import Withdrawn


class Review:
    """Holds a listing against what earlier attempts have done."""

    def __init__(self, listing: Listing, keeper: Keeper, result: RunResult) -> None:
        self.taken_back: list[Commit] = []
        self.gone = 0
        self._listing = listing
        self._keeper = keeper
        self._result = result
        self._remembers = bool(keeper.memory.commits)
        """Else nothing can be taken back, and no list of what there is has to be kept."""
        self._listed: set[str] = set()
        self._bound: dict[str, Source] = {}

    def left_to_do(self) -> Generator[Source, None, None]:
        for source in self._listing:
            if source.replaces is not None:
                yield source
                continue
            if not self._remembers:
                yield source
                continue
            self._listed.add(source.source_id)
            if self._keeper.is_done(source.source_id):
                self._skip(source)
                continue
            clashing = self._keeper.memory.superseded(source.origins)
            yield from self._take_back(commit for commit in clashing if self._is_old(commit))
            yield source
        if self._listing.lists_all and self._listed:  # else more likely a disk is not there
            yield from self._take_back(list(self._withdrawn()))
            self.gone = sum(
                not is_retry(source) and source not in self._listed
                for source in self._keeper.memory.commits
            )

    def notes(self) -> Iterator[str]:
        """What became of earlier output, for people."""
        if self.taken_back:
            sources = sum(len(commit.sources) for commit in self.taken_back)
            yield (
                f"took back what {sources} source{'s' * (sources != 1)} had given: "
                "inputs have changed"
            )
        if self.gone:
            yield (
                f"inputs of {self.gone} earlier source{'s' * (self.gone != 1)} "
                "are no longer there: what they gave was kept"
            )

    def _withdrawn(self) -> Iterator[Commit]:
        withdrawn = Withdrawn(self._listing.storage_options)
        for commit in self._keeper.memory.all():
            for source in commit.sources:
                origins = commit.origins.get(source, ())
                if source not in self._listed and any(o.name in withdrawn for o in origins):
                    yield commit
                    break

    def _skip(self, source: Source) -> None:
        self._result.sources_skipped += 1
        if len(self._keeper.memory.commits[source.source_id].sources) > 1:
            self._bound[source.source_id] = source

    def _is_old(self, commit: Commit) -> bool:
        return not all(root_of(source) in self._listed for source in commit.sources)

    def _take_back(self, commits: Iterable[Commit]) -> Iterator[Source]:
        """The sources that were skipped, but lose their output together with others."""
        for commit in list(commits):
            self.taken_back += self._keeper.retract(commit)
            for source_id in commit.sources:
                if source_id in self._bound:
                    self._result.sources_skipped -= 1
                    yield self._bound.pop(source_id)
