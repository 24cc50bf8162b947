"""Which sources a job lost, which worker's death explains it, and what is run again."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_core.errors import StageError
from curator_ray.recovery import CrashHistory, SourceReruns

from curator_ray_data.run_folder import DeadWorker

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_MAX_UNEXPLAINED_LOSSES = 3
"""How often a source may be lost without a dead worker before it fails."""

_MAX_SETUP_DEATHS = 3
_UNEXPLAINED = "vanished with its data"


class Recovery:
    """Blames the deaths of workers on tasks, and runs lost sources again after a job."""

    def __init__(self, run: "RemoteRun", crashes: CrashHistory, reruns: SourceReruns) -> None:
        self._run = run
        self._crashes = crashes
        self._reruns = reruns
        self._dead: list[DeadWorker] = []
        """Those of the current job."""
        self._unexplained: dict[str, int] = {}
        self._setup_deaths = 0

    def record_deaths(self, dead: Sequence[DeadWorker]) -> None:
        """Blame these workers' tasks. Raises if a stage kills its workers during setup."""
        for worker in dead:
            self._dead.append(worker)
            self._charge(worker)

    def recover(self, sources: Sequence[AnyTask]) -> Iterator[AnyTask]:
        """Repeat what a job lost of its sources; yield outputs that are freed by failed ones."""
        dead, self._dead = self._dead, []
        reason = f"its worker {dead[-1].death.message if dead else _UNEXPLAINED}"
        for source in sources:
            [(source_id, _)] = source.lineage
            losses = self._unexplained.get(source_id, 0)
            keys = tuple(source.lineage)
            if losses >= _MAX_UNEXPLAINED_LOSSES and not dead:
                yield from self._reruns.fail_sources(keys, reason, self._run.worker_stages[0])
                continue
            attempt = self._reruns.attempts.get(source_id)
            self._reruns.rerun(keys, reason)
            if not dead and self._reruns.attempts.get(source_id) != attempt:
                self._unexplained[source_id] = losses + 1

    def _charge(self, worker: DeadWorker) -> None:
        death, status = worker.death, worker.death.status
        self._run.add_worker_output(worker.worker_id, death.output)
        stage_index = status.stage_index if status else None
        self._run.record_worker_loss(worker.worker_id, death.message, stage_index)
        if status is None:
            return
        if status.complete and not status.task_ids:
            self._count_setup_death(worker, status.stage_index)
        else:
            self._crashes.record_crash(status, f"its worker {death.message}", death.weight)

    def _count_setup_death(self, worker: DeadWorker, stage_index: int) -> None:
        """A stage that kills its worker during setup has no task to blame."""
        self._setup_deaths += 1
        if self._setup_deaths >= _MAX_SETUP_DEATHS:
            stage = self._run.plan.stages[stage_index].name
            raise StageError(
                f"{self._setup_deaths} workers in a row {worker.death.message} while stage "
                f"{stage!r} was being set up; finished sources are kept, run it again to resume",
                stage=stage,
                detail=worker.death.detail,
            )
