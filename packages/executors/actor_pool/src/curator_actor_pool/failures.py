"""Actors that die and stages that cannot be set up: what runs again, and when a run gives up."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask, PlannedStage
from curator_core.errors import CuratorError, StageError
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.reports import Keys
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.worker.deaths import WorkerDeath

from curator_actor_pool.pools import ActorCall, ActorPools, PoolActor
from curator_actor_pool.stored_tasks import StoredRange, TaskQueue, source_keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_MAX_SETUP_FAILURES = 3
_MAX_PATIENT_SETUP_FAILURES = 15
"""If other actors have set the stage up, or were killed from outside."""


class FailureHandler:
    """Counts the failures of the whole run, so that no task is lost and none kills forever."""

    def __init__(
        self, run: "RemoteRun", pools: ActorPools, crashes: CrashHistory, reruns: SourceReruns
    ) -> None:
        self.avoided_nodes: dict[int, set[str]] = {}
        """The nodes on which each stage could not be set up."""

        self._run = run
        self._pools = pools
        self._crashes = crashes
        self._reruns = reruns
        self._setup_failures: dict[int, int] = {}
        """How often in a row each stage could not be set up."""

        self._freed: list[AnyTask] = []

    def take_freed_outputs(self) -> list[AnyTask]:
        """Return outputs that were held back by sources that have failed since."""
        freed, self._freed = self._freed, []
        return freed

    # Setup

    def record_setup(self, planned: PlannedStage) -> None:
        self._setup_failures[planned.index] = 0

    def record_setup_failure(
        self,
        actor: PoolActor,
        planned: PlannedStage,
        reason: str,
        error: CuratorError | None = None,
        *,
        was_killed: bool = False,
    ) -> None:
        """Let other actors try, on other nodes if possible, and raise after a few failures.

        An actor that `was_killed`, perhaps from outside, says little about the stage and the node.
        """
        index = planned.index
        if not was_killed:
            self.avoided_nodes.setdefault(index, set()).add(actor.node)
        failures = self._setup_failures[index] = self._setup_failures.get(index, 0) + 1
        is_patient = was_killed or bool(self._pools.ready(planned))
        if failures >= (_MAX_PATIENT_SETUP_FAILURES if is_patient else _MAX_SETUP_FAILURES):
            raise error or StageError(
                f"{planned.name} could not be set up {failures} times; last: {reason}; finished "
                "sources are kept, run it again to resume",
                stage=planned.name,
            )

    # Deaths

    def handle_death(
        self, actor: PoolActor, death: WorkerDeath, planned: PlannedStage, queue: TaskQueue
    ) -> None:
        """Put back the tasks of a dead actor; those it was working on will run alone."""
        was_ready = planned.index in actor.ready
        calls = list(actor.calls.values())
        status = death.status
        self._run.add_worker_output(str(actor.number), death.output)
        stage_index = status.stage_index if status else None
        self._run.record_worker_loss(str(actor.number), death.message, stage_index)
        self._pools.remove(actor)
        was_in_setup = status is not None and status.complete and not status.task_ids
        culprit = None if death.is_node_lost or was_in_setup else _find_culprit(calls, death)
        for call in reversed(calls):
            ranges = self._blame(call, death, planned) if call is culprit else call.ranges
            queue.put_back(ranges)
        if not death.is_node_lost and (was_in_setup or not (calls or was_ready)):
            doing = f" while stage {planned.name!r} was being set up" if was_in_setup else ""
            self.record_setup_failure(
                actor,
                planned,
                f"a worker {death.message}{doing}",
                was_killed=death.weight < 1 and not was_in_setup,
            )

    def _blame(
        self, call: ActorCall, death: WorkerDeath, planned: PlannedStage
    ) -> list[StoredRange]:
        """Return the tasks of a call, with each suspect on its own."""
        reason = f"its worker {death.message}"
        in_stage: set[str] = set()
        if death.status is not None:
            self._crashes.record_crash(death.status, reason, death.weight)
            in_stage = set(death.status.task_ids)
        ranges: list[StoredRange] = []
        for task in (task for tasks in call.ranges for task in tasks.singles()):
            if in_stage and task.ids[0] not in in_stage:
                ranges.append(task)
            elif task.is_condemned:  # the worker had to quarantine it, and died even so
                self._freed += self._reruns.fail_sources(source_keys([task]), reason, planned)
            else:
                weight = death.weight if call.tasks == 1 else 0.0
                ranges.append(self._suspect(task, weight, reason, planned))
        return ranges

    def _suspect(
        self, task: StoredRange, weight: float, reason: str, planned: PlannedStage
    ) -> StoredRange:
        deaths = task.deaths + weight
        is_condemned = deaths >= ATTEMPTS_BEFORE_QUARANTINE
        if is_condemned:
            self._crashes.quarantine(planned.index, task.ids[0], reason)
        return StoredRange(task.stored, task.start, task.stop, True, deaths, is_condemned)

    def handle_lost_data(self, keys: Keys, error: Exception) -> None:
        """Rerun sources whose data was lost with its node."""
        self._reruns.rerun(keys, f"its data was lost ({type(error).__name__})")


def _find_culprit(calls: list[ActorCall], death: WorkerDeath) -> ActorCall | None:
    """Return the call that the actor was working on: by its status, else the first."""
    in_stage = set(death.status.task_ids) if death.status else set()
    return next(_calls_with(calls, in_stage), calls[0] if calls else None)


def _calls_with(calls: list[ActorCall], task_ids: set[str]) -> Iterator[ActorCall]:
    for call in calls:
        if any(not task_ids.isdisjoint(tasks.ids) for tasks in call.ranges):
            yield call
