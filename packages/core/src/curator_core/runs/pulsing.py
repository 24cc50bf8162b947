"""Pulsing: telling how a run stands, as often as is useful and never so often that it costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from curator_core.results import StageCounts
from curator_core.runs.pulses import Pulse, Queue, StagePulse, Workshop
from curator_core.runs.totals import add_to
from curator_core.usages import Usage

if TYPE_CHECKING:
    from curator_core.runs.running import Run

EVERY_S = 0.25
_LEAST_SHARE = 100
"""A pulse takes no more than this part of the time until the next one."""

_AT_MOST_S = 2.0
"""However slow one was: the next may be faster."""


class Pulsing:
    """Tells the pulses of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._next = 0.0
        self._executor = ""
        self._seen = -1.0
        self._last_progress = time.time()

    def begin(self, executor: str) -> None:
        self._executor = executor
        self.tell()

    def tick(self) -> None:
        if time.monotonic() >= self._next and self._run.events.are_heard("pulse"):
            self.tell()

    def tell(self, status: str = "running") -> None:
        """Now, whenever the last one was."""
        started = time.perf_counter()
        self._run.events.tell("pulse", pulse=self.taken(status))
        cost = time.perf_counter() - started
        self._next = time.monotonic() + min(max(EVERY_S, _LEAST_SHARE * cost), _AT_MOST_S)

    def taken(self, status: str = "running") -> Pulse:
        """The run as it is now."""
        run, result = self._run, self._run.result
        counts = run.counts_so_far()
        shop = Workshop()
        if run.workshop and status == "running":  # afterwards there is none any more
            shop = run.workshop()
        last_progress = self._progressed(counts)
        return Pulse(
            time=time.time(),
            name=run.plan.name,
            executor=self._executor,
            status=status,
            seconds=run.seconds,
            done=result.sources_done,
            skipped=result.sources_skipped,
            failed=run.sources_failed,
            open=run.open_sources,
            left=run.sources_left,
            stages=self._stages(counts, shop),
            workshop=shop,
            restarts=dict(result.worker_restarts),
            quarantined=dict(run.quarantined_tasks),
            last_progress=last_progress,
            is_stopping=run.stopping.is_asked,
        )

    def _stages(self, counts: Mapping[int, StageCounts], shop: Workshop) -> tuple[StagePulse, ...]:
        run = self._run
        queues = _queues(run, counts) if shop.queues is None else shop.queues
        return tuple(
            StagePulse(
                planned.index,
                planned.name,
                counts[planned.index],
                run.totals[planned.index],
                run.usages.get(planned.index, _NONE),
                queues.get(planned.index, _EMPTY),
                shop.at_work.get(planned.index, 0),
                planned.stage.writes,
            )
            for planned in run.worker_stages
        )

    def _progressed(self, counts: Mapping[int, StageCounts]) -> float:
        """When anything was last seen to move."""
        tasks = sum(usage.tasks for usage in self._run.usages.values())
        seen = tasks + self._run.result.sources_done + sum(c.tasks_in for c in counts.values())
        if seen != self._seen:
            self._seen, self._last_progress = seen, time.time()
        return self._last_progress


_NONE, _EMPTY = Usage(), Queue()


def _queues(run: Run, counts: Mapping[int, StageCounts]) -> dict[int, Queue]:
    """What one stage has given and the next has not taken."""
    return {
        after.index: Queue(max(0, counts[before.index].tasks_out - counts[after.index].tasks_in))
        for before, after in pairwise(run.worker_stages)
    }


def summed(*accounts: Mapping[int, StageCounts]) -> dict[int, StageCounts]:
    total: dict[int, StageCounts] = {}
    for account in accounts:
        add_to(total, account)
    return total
