"""The streaming executor: all stages work at once, on every worker of a Ray cluster."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import AnyTask, FailureBudget, Plan, PlannedStage
from curator_core.errors import PipelineError, hint
from curator_core.model.policies import OnError
from curator_ray.executor import RayExecutor
from curator_ray.options import resolve_options

from curator_streaming.options import StreamingOptions

if TYPE_CHECKING:
    from curator_core.plan.executor import Buildable, RemoteRun
    from curator_core.run.run import ActiveRun
    from curator_ray.cluster.connection import Connection
    from curator_ray.cluster.survey import Survey

    from curator_streaming.engine.driver import EngineContext
    from curator_streaming.service import StreamingService

_HINTS = ("fuse",)
_SERVICE_LINGER_S = 0.01
"""How long tasks of an open pipeline wait for a full batch."""


class StreamingExecutor(RayExecutor[StreamingOptions]):
    """Runs all stages at the same time, on different tasks, on a Ray cluster.

    With `execution_mode="batch"` one after the other, for stages that need the whole cluster.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. Give `options`, or a `config` with the same
    names.
    """

    capabilities: ClassVar[frozenset[str]] = RayExecutor.capabilities | {
        "open",
        "placement",
        "recycling",
    }
    title: ClassVar[str] = "streaming"

    def __init__(
        self,
        options: StreamingOptions | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = resolve_options(options, config, StreamingOptions, self.title)

    def connected(self, plan: Plan) -> "AbstractContextManager[Connection]":
        from curator_ray.cluster.connection import connected
        from curator_ray.cluster.private import PrivateCluster

        options = self.options
        private = PrivateCluster(
            object_store_gb=options.object_store_gb, dashboard=options.dashboard
        )
        return connected(options.address, private)

    def hint_problems(self, plan: Plan) -> Iterable[str]:
        for planned in plan.stages:
            at = f"stage {planned.index + 1} {planned.name!r}"
            for name, value in planned.hints.get("streaming", {}).items():
                if name not in _HINTS:
                    yield f"{at}: no streaming hint {name!r}{hint(name, _HINTS)}"
                elif not isinstance(value, bool):
                    yield f"{at}: the streaming hint {name!r} is {value!r}, but must be a bool"

    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        if self.options.ignore_failures:
            plan = _quarantine_instead(plan, "fail")
        with self._context(plan, run, connection, survey) as context:
            from curator_streaming.engine.driver import Driver
            from curator_streaming.engine.results import OutputQueue

            wakeup = threading.Event()
            queue = OutputQueue(wakeup)
            indices = {planned.index for planned in run.worker_stages}
            stages = tuple(step for step in plan.steps if step.index in indices)
            driver = Driver(run, stages, context, queue, wakeup)
            driver.start()
            is_complete = False
            try:
                yield from queue
                is_complete = True
            finally:
                driver.finish(abort=not is_complete)

    def open(self, pipeline: "Buildable | Plan", *, most_open: int = 1000) -> "StreamingService":
        """Keep a pipeline running: it takes tasks as they arrive and answers each of them.

        Failures come with the replies, whatever `on_error` says.
        """
        from curator_core.run.run import ActiveRun
        from curator_core.run.sources import TaskListing
        from curator_core.run.store import NoStore
        from curator_ray.cluster.connection import refuse_client

        refuse_client(self.options.address, "no pipeline can be served")
        from curator_streaming.service import StreamingService, check_servable

        if most_open < 1:
            raise PipelineError(f"most_open is {most_open}, but must be 1 or more")
        if self.options.has_barriers:
            raise PipelineError(
                'with execution_mode="batch" a stage waits for all of its input, and an open '
                'pipeline never has all of it; use "streaming"'
            )
        plan = pipeline if isinstance(pipeline, Plan) else pipeline.build(self, tasks=[])
        check_servable(plan)
        plan = replace(_quarantine_instead(plan, "fail", "skip"), budget=FailureBudget(None))
        run = ActiveRun(plan, TaskListing([]), NoStore())
        run.start(type(self).__name__, "open for tasks")
        open_context = partial(self._open_context, plan, run)
        return StreamingService(run, open_context, most_open, plan.stages[0].input_type)

    @contextmanager
    def _open_context(self, plan: Plan, run: "ActiveRun") -> "Iterator[EngineContext]":
        with self.connected(plan) as connection:
            survey = self.survey(plan, connection)
            run.events.emit("connected", how=connection.kind, address=connection.address)
            changes = {"keeps_warm": True, "linger_s": _SERVICE_LINGER_S}
            with self._context(plan, run, connection, survey, **changes) as context:
                yield context

    @contextmanager
    def _context(
        self,
        plan: Plan,
        run: "RemoteRun",
        connection: "Connection",
        survey: "Survey",
        **changes: Any,
    ) -> "Iterator[EngineContext]":
        """Prepare what a driver needs; `changes` are other settings of the scheduler."""
        from curator_ray.worker.handle import WorkerLauncher  # cannot be imported without Ray

        from curator_streaming.engine.driver import EngineContext

        if self.options.dashboard:
            from curator_ray.cluster.dashboard import log_dashboard

            log_dashboard(connection)
        stores = [node.object_store_gb * 1e9 for node in survey.facts.nodes]
        settings = self.options.settings(sum(stores), max(stores, default=0.0))
        launcher = WorkerLauncher(
            plan, run.token, folder=connection.folder, send_modules=survey.spans_machines
        )
        try:
            yield EngineContext(self.options, replace(settings, **changes), survey, launcher)
        finally:
            launcher.close()


def _quarantine_instead(plan: Plan, *policies: OnError) -> Plan:
    """Quarantine failing tasks where a stage has one of these policies."""

    def change(planned: PlannedStage) -> PlannedStage:
        policy = planned.policy
        if policy.on_error in policies:
            policy = replace(policy, on_error="quarantine")
        return replace(planned, policy=policy, members=tuple(map(change, planned.members)))

    return replace(
        plan, stages=tuple(map(change, plan.stages)), steps=tuple(map(change, plan.steps))
    )
