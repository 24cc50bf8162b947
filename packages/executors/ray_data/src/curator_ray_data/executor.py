"""The executor for people who live in Ray Data: the plan as a Ray Data job."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import AnyTask, Plan
from curator_ray.executor import RayExecutor
from curator_ray.options import resolve_options

from curator_ray_data.hinting import wrong_hints
from curator_ray_data.options import RayDataOptions

if TYPE_CHECKING:
    from curator_core import Run
    from curator_core.plan.executor import RemoteRun
    from curator_ray.cluster.connection import Connection
    from curator_ray.cluster.nodes import ClusterFacts
    from curator_ray.cluster.survey import Survey

LOG = logging.getLogger("curator_core")


class _Once:
    """Whether something was said in this process."""

    is_said = False


class RayDataExecutor(RayExecutor[RayDataOptions]):
    """Runs the plan as one streaming job of Ray Data.

    Stages without a state of their own are tasks; those that are set up, have a GPU or a fixed
    number of workers are actor pools. The cluster is the one that Ray is connected to, else
    `address`, else RAY_ADDRESS, else a private one on this machine that ends with the run. Give
    `options`, or a `config` with the same names.
    """

    title: ClassVar[str] = "Ray Data"
    needs: ClassVar[str] = "'ray[data]'"

    def __init__(
        self, options: RayDataOptions | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        self.options = resolve_options(options, config, RayDataOptions, self.title)

    def hint_problems(self, plan: Plan) -> Iterable[str]:
        return wrong_hints(plan)

    def unmet_demands(self, plan: Plan, cluster: "ClusterFacts") -> Iterable[str]:
        from curator_ray_data.sharing import refused

        return refused(plan, cluster)

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        if run.worker_stages and run.has_work:
            _warn_once()
        yield from super().execute(plan, run)

    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        from curator_ray_data.driving import Driver
        from curator_ray_data.places import place_for
        from curator_ray_data.sources import Sources
        from curator_ray_data.standing_in import in_this_process

        with ExitStack() as stack:
            smallest = min(planned.resources.cpus for planned in run.worker_stages)
            stack.enter_context(in_this_process(connection, survey.facts, smallest))
            place = stack.enter_context(place_for(plan, run.token, connection, survey))
            yield from Driver(run, Sources(run, self.options), place, self.options).outputs()

    @contextmanager
    def connected(self, plan: Plan) -> "Iterator[Connection]":
        from curator_ray_data.contexts import check_context
        from curator_ray_data.hushing import unreported

        with ExitStack() as stack:
            connection = stack.enter_context(super().connected(plan))
            if connection.kind == "private":
                stack.enter_context(unreported())
            if not connection.is_client:
                check_context(self.options.context)
            yield connection


def _warn_once() -> None:
    if _Once.is_said:
        return
    _Once.is_said = True
    LOG.warning(
        "ray_data: how work is scheduled, cut into blocks and held back is decided by Ray Data, "
        "and may change with its version; the executor 'streaming' is the one that we measure"
    )
