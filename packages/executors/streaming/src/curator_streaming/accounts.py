"""Accounts: what calls gave and reported, passed on to the run in the right order."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from curator_core import AnyTask, PlannedStage
from curator_core.model.lineage import Lineage
from curator_core.model.reports import CallReport
from curator_ray.repeating import Repeats

from curator_streaming.outboxes import Sink
from curator_streaming.stores import Keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


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
    """Outputs reach the run before the report of their call; both only when they are complete.

    Outputs are fetched while there is room for them; their call is reported once they were taken,
    so that nothing counts as done that has reached nobody.
    """

    def __init__(self, run: "RemoteRun", sink: Sink) -> None:
        self._run = run
        self._sink = sink
        self._finals: deque[Final] = deque()
        self._unreported: deque[tuple[int, Final, list[Lineage]]] = deque()
        self.repeats = Repeats(run)
        self.taken = 0
        """Bytes of final outputs that are no longer in the store for us."""

    def report(self, report: CallReport, keys: Keys) -> None:
        self._sink.put(self._run.apply_report(report, [cast(AnyTask, Lot(keys))]), 0)
        self.repeats.run_mixed_again()

    def final(self, final: Final) -> None:
        self._finals.append(final)

    @property
    def has_left(self) -> bool:
        """Whether something is still to be fetched, or to be taken."""
        return bool(self._finals or self._unreported)

    def settle(self) -> None:
        """Hand over what there is room for, and report what has been taken."""
        self._report_taken()
        while self._finals and (self._finals[0].ref is None or self._sink.has_room):
            final = self._finals.popleft()
            before = self._sink.given
            lineages = [] if final.ref is None else self._fetch(final)
            if lineages is None:
                continue
            given = self._sink.given
            self._unreported.append((given if given > before else 0, final, lineages))
            self._report_taken()

    def _report_taken(self) -> None:
        while self._unreported and self._unreported[0][0] <= self._sink.taken:
            _, final, lineages = self._unreported.popleft()
            self.taken += final.size
            self._run.credit(lineages)  # now, or sources might be done before this report
            if final.report is not None:
                self.report(final.report, final.keys)

    def give_up(self, keys: Keys, reason: str, stage: PlannedStage) -> None:
        """Fail these sources; others that were bound to them are run again."""
        self._sink.put(self.repeats.give_up(keys, reason, stage), 0)

    def _fetch(self, final: Final) -> list[Lineage] | None:
        """What its outputs are made of; None where they are lost."""
        import ray

        try:
            outputs = ray.get(final.ref).open()
        except ray.exceptions.RayError as error:
            self.repeats.run_again(final.keys, f"its outputs were lost ({type(error).__name__})")
            self.taken += final.size
            return None
        shown = [one for output in outputs for one in self._run.emit(output)]
        self._sink.put(shown, final.size)
        return [output.lineage for output in outputs]
