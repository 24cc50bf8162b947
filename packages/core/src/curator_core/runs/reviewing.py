"""Reviewing: which listed sources are left to do, and whose output has to go.

Output is taken back where it was made of an earlier state of an input, or of one that is gone.
What was published together with it is made again, so that nothing is there twice or missing.
"""

from collections.abc import Generator, Iterable, Iterator

from curator_core.results import RunResult
from curator_core.runs.keeping import Keeper
from curator_core.runs.listing import Listing, Source
from curator_core.runs.memory import Commit, root_of


class Review:
    """Holds a listing against what earlier attempts have done."""

    def __init__(self, listing: Listing, keeper: Keeper, result: RunResult) -> None:
        self.taken_back: list[Commit] = []
        self._listing = listing
        self._keeper = keeper
        self._result = result
        self._listed: set[str] = set()
        self._bound: dict[str, Source] = {}

    def left_to_do(self) -> Generator[Source, None, None]:
        for source in self._listing:
            if source.replaces is not None:
                yield source
                continue
            self._listed.add(source.source_id)
            if self._keeper.is_done(source.source_id):
                self._skip(source)
                continue
            clashing = self._keeper.memory.superseded(source.origins)
            yield from self._take_back(commit for commit in clashing if self._is_old(commit))
            yield source
        if self._listing.lists_all:
            everything = self._keeper.memory.all()
            yield from self._take_back(commit for commit in everything if self._is_old(commit))

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
