"""Losses: sources that did not come back from a job, and what the dead had to do with it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_core.errors import StageError
from curator_ray.recovery import CrashHistory, SourceReruns

from curator_ray_data.casualties import Casualty

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_MOST_UNEXPLAINED = 3
"""How often a source may be lost with nobody found dead, before it is given up."""

_SETUPS_BEFORE_GIVING_UP = 3
_VANISHED = "vanished with its data, and nobody knows why"


class Losses:
    """Learns who died with what in hand, and has the sources run again that were lost by it."""

    def __init__(self, run: "RemoteRun", known: CrashHistory, repeats: SourceReruns) -> None:
        self.is_draining = False
        self._run = run
        self._known = known
        self._repeats = repeats
        self._unexplained: dict[str, int] = {}
        self._setups = 0

    def learn(
        self, sources: Sequence[AnyTask], casualties: Sequence[Casualty]
    ) -> Iterator[AnyTask]:
        """To be called when a job has ended; what is shown of sources that are given up."""
        for casualty in casualties:
            self._charge(casualty)
        reason = casualties[-1].reason if casualties else _VANISHED
        for source in sources:
            [(source_id, _)] = source.lineage
            times = self._unexplained.get(source_id, 0)
            if times >= _MOST_UNEXPLAINED and not casualties:
                first = self._run.worker_stages[0]
                keys = tuple(source.lineage)
                yield from self._repeats.fail_sources(keys, f"its worker {reason}", first)
            elif self._is_lost(source, reason) and not casualties:
                self._unexplained[source_id] = times + 1

    def _is_lost(self, source: AnyTask, reason: str) -> bool:
        [(source_id, _)] = source.lineage
        before = self._repeats.attempts.get(source_id)
        self._repeats.rerun(tuple(source.lineage), f"its worker {reason}")
        return self._repeats.attempts.get(source_id) != before

    def _charge(self, casualty: Casualty) -> None:
        note = casualty.death.status
        at = note.stage_index if note else None
        self._run.add_worker_output(casualty.worker_id, casualty.death.output)
        self._run.record_worker_loss(casualty.worker_id, casualty.reason, at)
        if note is None:
            return
        if note.complete and not note.task_ids:
            self._count_setup(casualty)
        else:
            self._known.record_crash(note, f"its worker {casualty.reason}", casualty.death.weight)

    def _count_setup(self, casualty: Casualty) -> None:
        """A stage that kills its worker before it is set up has no task to blame."""
        note = casualty.death.status
        assert note is not None
        self._setups += 1
        if self._setups >= _SETUPS_BEFORE_GIVING_UP:
            stage = self._run.plan.stages[note.stage_index].name
            raise StageError(
                f"the run cannot go on: {self._setups} workers in a row {casualty.reason} while "
                f"stage {stage!r} was being set up; what is finished is kept, and the same command "
                "does the rest",
                stage=stage,
                detail=casualty.death.detail,
            )
