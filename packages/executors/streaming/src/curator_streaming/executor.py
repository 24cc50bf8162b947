"""The executor that keeps every worker of a Ray cluster busy: all stages at once."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import AnyTask, FailureBudget, Plan, PlannedStage
from curator_core.errors import PipelineError
from curator_core.model.policies import OnError
from curator_ray.executors import RayExecutor, given

from curator_streaming.hinting import wrong_hints
from curator_streaming.options import StreamingOptions

if TYPE_CHECKING:
    from curator_core.plan.executor import Buildable, RemoteRun
    from curator_core.run.run import ActiveRun
    from curator_ray.connecting import Connection
    from curator_ray.surveying import Survey

    from curator_streaming.driving import Ground
    from curator_streaming.serving import StreamingService

_LINGER_S = 0.01
"""How long an open pipeline lets tasks wait for others, where a stage likes to have several."""


class StreamingExecutor(RayExecutor[StreamingOptions]):
    """Runs all stages at the same time, on different tasks, on a Ray cluster.

    With `execution_mode="batch"` one after the other, for stages that are to have all of it.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. Give `options`, or a `config` with the same
    names.
    """

    capabilities: ClassVar[frozenset[str]] = RayExecutor.capabilities | {"open"}
    title: ClassVar[str] = "streaming"
    soon: ClassVar[tuple[str, ...]] = ("curator_streaming.driving",)

    def __init__(
        self,
        options: StreamingOptions | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = given(options, config, StreamingOptions, self.title)

    def wrong_hints(self, plan: Plan) -> Iterable[str]:
        return wrong_hints(plan)

    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        if self.options.ignore_failures:
            plan = _bearing(plan, "fail")
        with self._ground(plan, run, connection, survey) as ground:
            from curator_streaming.driving import Driver
            from curator_streaming.outboxes import Outbox

            bell = threading.Event()
            outbox = Outbox(bell)
            indices = {planned.index for planned in run.worker_stages}
            stages = tuple(step for step in plan.steps if step.index in indices)
            driver = Driver(run, stages, ground, outbox, bell)
            driver.begin()
            is_through = False
            try:
                yield from outbox
                is_through = True
            finally:
                driver.finish(breaks_off=not is_through)

    def open(self, pipeline: "Buildable | Plan", *, most_open: int = 1000) -> "StreamingService":
        """Serve a pipeline: it takes tasks as they arrive, and answers each of them.

        Failures come with the replies, whatever `on_error` says.
        """
        from curator_core.run.run import ActiveRun
        from curator_core.run.sources import TaskListing
        from curator_core.run.store import NoStore
        from curator_ray.connecting import refuse_client

        refuse_client(self.options.address, "no pipeline can be served")
        from curator_streaming.serving import StreamingService, check_servable

        if most_open < 1:
            raise PipelineError(f"most_open is {most_open}, but must be 1 or more")
        if self.options.has_barriers:
            raise PipelineError(
                'with execution_mode="batch" a stage waits for all of its input, and an open '
                'pipeline never has all of it; use "streaming"'
            )
        plan = pipeline if isinstance(pipeline, Plan) else pipeline.build(self, tasks=[])
        check_servable(plan)
        plan = replace(_bearing(plan, "fail", "skip"), budget=FailureBudget(None))
        run = ActiveRun(plan, TaskListing([]), NoStore())
        run.start(type(self).__name__, "open for tasks")
        ground = partial(self._open_ground, plan, run)
        return StreamingService(run, ground, most_open, plan.stages[0].input_type)

    @contextmanager
    def _open_ground(self, plan: Plan, run: "ActiveRun") -> "Iterator[Ground]":
        with self.connected(plan) as connection:
            survey = self.surveyed(plan, connection)
            run.events.emit("connected", how=connection.kind, address=connection.address)
            more = {"keeps_warm": True, "linger_s": _LINGER_S}
            with self._ground(plan, run, connection, survey, **more) as ground:
                yield ground

    @contextmanager
    def _ground(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey", **more: Any
    ) -> "Iterator[Ground]":
        """What a driver needs to know of its cluster; `more` are settings of the scheduler."""
        from curator_ray.hosts import Hosts  # not to be imported where Ray is refused

        from curator_streaming.driving import Ground

        stores = [node.object_store_gb * 1e9 for node in survey.facts.nodes]
        settings = self.options.settings(sum(stores), max(stores, default=0.0))
        hosts = Hosts(plan, run.token, folder=connection.folder, far=survey.is_far)
        try:
            yield Ground(self.options, replace(settings, **more), survey, hosts)
        finally:
            hosts.close()


def _bearing(plan: Plan, *policies: OnError) -> Plan:
    """The plan with failures set aside where a stage has one of these policies."""

    def lenient(planned: PlannedStage) -> PlannedStage:
        policy = planned.policy
        if policy.on_error in policies:
            policy = replace(policy, on_error="quarantine")
        return replace(planned, policy=policy, members=tuple(map(lenient, planned.members)))

    return replace(
        plan, stages=tuple(map(lenient, plan.stages)), steps=tuple(map(lenient, plan.steps))
    )
