"""Watching a run from another terminal or machine, for `status --watch`."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.model.snapshot import Pulse
from curator_core.reporting.directories import state_of
from curator_core.reporting.figures import count, duration
from curator_core.run.snapshot import THERE_EVERY_S, read_latest

if TYPE_CHECKING:
    from rich.console import RenderableType

    from curator_core.progress.counting import Progress

LOOK_EVERY_S = 1.0
SILENCE_S = 3 * THERE_EVERY_S
"""After this long without news, the display says so."""


@dataclass(frozen=True)
class Look:
    """The latest report of a running run."""

    pulse: Pulse
    progress: "Progress"

    @property
    def silence(self) -> str:
        """A warning if the run has not reported, or has made no progress, for a while; else ""."""
        now = time.time()
        if now - self.pulse.time > SILENCE_S:
            return f"no news for {duration(now - self.pulse.time)}: is its machine still there?"
        idle = self.pulse.time - self.pulse.last_progress
        return f"nothing has moved for {duration(idle)}" if idle > SILENCE_S else ""

    def line(self) -> str:
        from curator_core.progress.displays import heartbeat

        told = heartbeat(self.progress)
        return f"{told} ({self.silence})" if self.silence else told

    def drawn(self, height: int, width: int) -> "RenderableType":
        """Return the run's own progress table, with the states of its workers."""
        from rich.console import Group
        from rich.text import Text

        from curator_core.progress.displays import drawn

        states = self.pulse.workshop.workers
        told = [f"{count(number)} {state}" for state, number in states.items() if number]
        workers = [Text(f"workers: {', '.join(told)}")] if told else []
        silence = [Text(self.silence, style="bold yellow")] if self.silence else []
        return Group(drawn(self.progress, height - 2, width), *workers, *silence)

    def to_json(self) -> dict[str, Any]:
        pulse = self.pulse
        return {
            "name": pulse.name,
            "state": "running",
            "executor": pulse.executor,
            "seconds": round(pulse.seconds, 3),
            "last_progress": pulse.last_progress,
            "sources_per_second": round(self.progress.rate, 3),
            "sources_done": pulse.done,
            "sources_skipped": pulse.skipped,
            "sources_failed": pulse.failed,
            "sources_under_way": pulse.open,
            "sources_left": pulse.left,
            "workers": dict(pulse.workshop.workers),
            "worker_restarts": dict(pulse.restarts),
            "stages": {stage.name: stage.counts.to_json() for stage in pulse.stages},
        }


def looks(run_dir: str) -> Iterator[Look | None]:
    """Yield the latest report at intervals until the run ends; None before the first report."""
    from curator_core.progress.counting import Meter

    meter = Meter()
    while state_of(run_dir) == "running":
        pulse = read_latest(run_dir)
        yield None if pulse is None else Look(pulse, meter.read(pulse))
        time.sleep(LOOK_EVERY_S)
