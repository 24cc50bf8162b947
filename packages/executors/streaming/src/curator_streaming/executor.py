"""The executor that keeps every worker of a Ray cluster busy: all stages at once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core.errors import PipelineError, ResourceError
from curator_core.executors import Executor
from curator_core.outcomes import AnyTask
from curator_core.plans import Plan

from curator_streaming.hinting import wrong_hints
from curator_streaming.options import StreamingOptions

if TYPE_CHECKING:
    from curator_core.runs.running import Run
    from curator_ray.connecting import Connection


class StreamingExecutor(Executor):
    """Runs all stages at the same time, on different tasks, on a Ray cluster.

    With `execution_mode="batch"` one after the other, for stages that are to have all of it.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. Give `options`, or a `config` with the same
    names.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts", "runtime_env"})

    def __init__(
        self,
        options: StreamingOptions | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if options is not None and config is not None:
            raise PipelineError("give the streaming executor options or a config, not both")
        self.options = options or StreamingOptions.from_config(config or {})

    def __repr__(self) -> str:
        return f"StreamingExecutor({self.options})"

    def check(self, plan: Plan) -> Iterable[str]:
        """Wrong hints; and what no node has, where Ray is connected already."""
        problems = list(wrong_hints(plan))
        if problems:
            raise PipelineError(problems)
        import ray

        if ray.is_initialized():
            from curator_ray.demands import lacking
            from curator_ray.facts import look

            yield from lacking(plan, look())

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        from curator_ray.connecting import connected
        from curator_ray.starting import PrivateCluster

        private = PrivateCluster(object_store_gb=self.options.object_store_gb)
        with connected(self.options.address, private) as connection:
            run.events.tell("connected", how=connection.kind, address=connection.address)
            yield from self._driven(plan, run, connection)

    def _driven(self, plan: Plan, run: "Run", connection: "Connection") -> Iterator[AnyTask]:
        from curator_ray.demands import lacking
        from curator_ray.hosts import Hosts
        from curator_ray.surveying import Survey

        from curator_streaming.driving import Driver
        from curator_streaming.scheduling.steps import steps_of

        if self.options.ignore_failures:
            plan = _bearing_failures(plan)
        if not run.worker_stages:
            yield from _only_listed(run)
            return
        survey = Survey(connection)
        problems = list(lacking(plan, survey.facts))
        if problems:
            raise ResourceError("\n".join(problems))
        hosts = Hosts(plan, run.token, folder=connection.folder, far=survey.is_far)
        try:
            stages = [plan.stages[planned.index] for planned in run.worker_stages]
            steps = steps_of(stages, fuses=not self.options.has_barriers)
            driver = Driver(plan, run, steps, self.options, survey, hosts)
            yield from driver.outputs()
        finally:
            hosts.close()


def _bearing_failures(plan: Plan) -> Plan:
    stages = tuple(
        replace(planned, policy=replace(planned.policy, on_error="quarantine"))
        if planned.policy.on_error == "fail"
        else planned
        for planned in plan.stages
    )
    return replace(plan, stages=stages)


def _only_listed(run: "Run") -> Iterator[AnyTask]:
    """A pipeline whose only stage lists the sources: they are the outputs."""
    from curator_core.reports import CallReport

    for source in run.sources():
        yield from run.deliver(source)
        yield from run.absorb(CallReport(), [source])
