"""Accounts: what calls gave and reported, passed on to the run in the right order."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from curator_core.lineage import SourceKey, source_of
from curator_core.outcomes import AnyTask
from curator_core.plans import PlannedStage
from curator_core.reports import CallReport

from curator_streaming.stores import Keys

if TYPE_CHECKING:
    from curator_core.runs.running import Run


@dataclass(frozen=True, slots=True)
class Lot:
    """Tasks that a call was about, known by nothing but their sources."""

    lineage: Keys


@dataclass(frozen=True, slots=True)
class Final:
    """Outputs of the last stage that wait in the object store, and the report that follows them."""

    ref: Any
    size: int
    keys: Keys
    report: CallReport | None


class Accounts:
    """Outputs reach the run before the report of their call; both only when they are complete."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._finals: deque[Final] = deque()
        self._shown: deque[AnyTask] = deque()
        self.again: list[AnyTask] = []
        """Sources that are to be run again."""

        self.attempts: dict[str, int] = {}
        """Which attempt at each of those counts from now on."""

        self.taken = 0
        """Bytes of final outputs that are no longer in the store for us."""

    def report(self, report: CallReport, keys: Keys) -> None:
        self._shown.extend(self._run.absorb(report, [cast(AnyTask, Lot(keys))]))
        self._look_for_void()

    def final(self, final: Final) -> None:
        self._finals.append(final)

    def showing(self) -> Iterator[AnyTask]:
        """What may be shown by now; fetched only as it is taken."""
        yield from self._show()
        while self._finals:
            final = self._finals.popleft()
            if final.ref is not None and not self._fetch(final):
                continue
            yield from self._show()
            if final.report is not None:
                self.report(final.report, final.keys)
                yield from self._show()

    def run_again(self, keys: Iterable[SourceKey], reason: str) -> None:
        """Void these attempts at their sources, and begin others."""
        for source_id, attempt in keys:
            if attempt < self.attempts.get(source_id, attempt):
                continue  # that was done already
            for task in self._run.again(source_id, reason):
                [(member, now)] = task.lineage
                self.attempts[member] = now
                self.again.append(task)

    def give_up(self, keys: Keys, reason: str, stage: PlannedStage) -> None:
        """Fail these sources; others that were bound to them are run again."""
        self.run_again(keys, reason)
        doomed = {key[0] for key in keys}
        for task in [t for t in self.again if source_of(t.lineage) in doomed]:
            self.again.remove(task)
            self._shown.extend(self._run.give_up(source_of(task.lineage), reason, stage))

    def _fetch(self, final: Final) -> bool:
        import ray

        try:
            outputs = ray.get(final.ref).open()
        except ray.exceptions.RayError as error:
            self.run_again(final.keys, f"its outputs were lost ({type(error).__name__})")
            self.taken += final.size
            return False
        for output in outputs:
            self._shown.extend(self._run.deliver(output))
        self.taken += final.size
        return True

    def _show(self) -> Iterator[AnyTask]:
        while self._shown:
            yield self._shown.popleft()

    def _look_for_void(self) -> None:
        for source_id in self._run.void_mixed():
            for task in self._run.again(source_id, "it was mixed with a source that is run again"):
                [(member, now)] = task.lineage
                self.attempts[member] = now
                self.again.append(task)
