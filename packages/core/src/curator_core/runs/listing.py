"""Listing: the sources of a run, from the first stage or from given tasks."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from curator_core.errors import PipelineError
from curator_core.lineage import fingerprint, whole
from curator_core.outcomes import AnyTask
from curator_core.places import WorkerInfo
from curator_core.plans import Plan, PlannedStage
from curator_core.results import StageCounts
from curator_core.tasks import Empty
from curator_core.worker import StageWorker


class Listing:
    """The sources of one run, each with the id of what it is."""

    def __init__(self, plan: Plan, tasks: Iterable[AnyTask] | None, run_token: str) -> None:
        self._tasks = tasks
        self._seen: dict[str, int] = {}
        self.lister: PlannedStage | None = None
        self.counts = StageCounts()
        if tasks is None:
            self.lister = plan.stages[0]
            policy = replace(self.lister.policy, on_error="fail")
            listers = [replace(self.lister, policy=policy)]
            self._worker = StageWorker(plan, WorkerInfo("driver", run_token=run_token), listers)

    def __iter__(self) -> Iterator[AnyTask]:
        for position, task in enumerate(self._listed()):
            task.task_id = self._id_of(task, position)
            yield task

    def _listed(self) -> Iterator[AnyTask]:
        if self._tasks is not None:
            yield from self._tasks
            return
        self._worker.setup_on_node()
        self._worker.setup()
        try:
            seed = Empty()
            seed.lineage = whole("", 0)
            call = self._worker.call([seed])
            try:
                yield from call.outputs()
            finally:
                self.counts = next(iter(call.report.counts.values()), StageCounts())
        finally:
            self._worker.teardown()

    def _id_of(self, task: AnyTask, position: int) -> str:
        identity = task.identity()
        if identity is None:
            return fingerprint("position", str(position))
        repeats = self._seen[identity] = self._seen.get(identity, 0) + 1
        return fingerprint(identity) if repeats == 1 else fingerprint(identity, str(repeats))


def check_sources(plan: Plan, tasks: Iterable[AnyTask] | None) -> None:
    """Without tasks, the first stage has to make something of nothing."""
    first = plan.stages[0]
    if tasks is None and not issubclass(Empty, first.takes):
        raise PipelineError(
            f"stage {first.name!r} takes {first.takes.__name__}, but nothing comes before it; "
            "begin with a reader, or give run(tasks=[...])"
        )
