"""The executor that runs a plan as a Ray Data job."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import AnyTask, Plan
from curator_ray.executor import RayExecutor
from curator_ray.options import resolve_options

from curator_ray_data.options import RayDataOptions

if TYPE_CHECKING:
    from curator_core import Run
    from curator_core.plan.executor import RemoteRun
    from curator_ray.cluster.connection import Connection
    from curator_ray.cluster.nodes import ClusterFacts
    from curator_ray.cluster.survey import Survey

LOG = logging.getLogger("curator_core")


class RayDataExecutor(RayExecutor[RayDataOptions]):
    """Runs the plan as one streaming job of Ray Data.

    Stages without state run in tasks; stages with a setup, a GPU or a fixed number of workers run
    in actor pools. The cluster is the one that Ray is connected to, else `address`, else
    RAY_ADDRESS, else a private one on this machine that ends with the run. Give `options`, or a
    `config` with the same names.
    """

    title: ClassVar[str] = "Ray Data"
    needs: ClassVar[str] = "'ray[data]'"
    _has_warned: ClassVar[bool] = False

    def __init__(
        self, options: RayDataOptions | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        self.options = resolve_options(options, config, RayDataOptions, self.title)

    def hint_problems(self, plan: Plan) -> Iterable[str]:
        from curator_ray_data.plan import find_hint_problems

        return find_hint_problems(plan)

    def unmet_demands(self, plan: Plan, cluster: "ClusterFacts") -> Iterable[str]:
        from curator_ray_data.plan import find_problems

        return find_problems(plan, cluster)

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        if run.worker_stages and run.has_work and not RayDataExecutor._has_warned:
            RayDataExecutor._has_warned = True
            LOG.warning(
                "ray_data: Ray Data decides on scheduling, blocks and backpressure, which may "
                "change with its version; the executor 'streaming' is the one that we measure"
            )
        yield from super().execute(plan, run)

    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        from curator_ray.transfer.modules import PlanPacker

        from curator_ray_data.driver import Driver
        from curator_ray_data.run_folder import run_folder

        packer = PlanPacker(send_modules=survey.spans_machines)
        try:
            with run_folder(connection.folder, survey) as folder:
                yield from Driver(plan, run, survey, folder, packer, self.options).outputs()
        finally:
            packer.close()

    @contextmanager
    def connected(self, plan: Plan) -> "Iterator[Connection]":
        from curator_ray_data.context import check_context, usage_not_reported

        with ExitStack() as stack:
            connection = stack.enter_context(super().connected(plan))
            if connection.kind == "private":
                stack.enter_context(usage_not_reported())
            if not connection.is_client:
                check_context(self.options.context)
            yield connection
