"""The executor that runs one stage after the other, each in a pool of actors."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import AnyTask, Plan
from curator_ray.executor import RayExecutor
from curator_ray.options import resolve_options

from curator_actor_pool.options import ActorPoolOptions

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun
    from curator_ray.cluster.connection import Connection
    from curator_ray.cluster.nodes import ClusterFacts
    from curator_ray.cluster.survey import Survey


class RayActorPoolExecutor(RayExecutor[ActorPoolOptions]):
    """Runs stage after stage on a Ray cluster. Each stage uses all of it and ends before the next.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. Give `options`, or a `config` with the same
    names.
    """

    title: ClassVar[str] = "actor pool"

    def __init__(
        self,
        options: ActorPoolOptions | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = resolve_options(options, config, ActorPoolOptions, self.title)

    def hint_problems(self, plan: Plan) -> Iterable[str]:
        return [
            f"stage {planned.index + 1} {planned.name!r}: no actor_pool hint {name!r}; there are "
            "none, so leave it out"
            for planned in plan.stages
            for name in planned.hints.get("actor_pool", {})
        ]

    def unmet_demands(self, plan: Plan, cluster: "ClusterFacts") -> Iterable[str]:
        from curator_actor_pool.placement import find_unmet_demands

        reserved = self.options.reserved_cpus, self.options.reserved_gpus
        return find_unmet_demands(plan, cluster, *reserved)

    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        from curator_ray.worker.handle import WorkerLauncher

        from curator_actor_pool.driver import Driver

        launcher = WorkerLauncher(
            plan, run.token, folder=connection.folder, send_modules=survey.spans_machines
        )
        try:
            yield from Driver(run, self.options, survey, launcher).outputs()
        finally:
            launcher.close()
