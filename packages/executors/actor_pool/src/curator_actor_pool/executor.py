"""The executor that has one stage after the other at work, each in a pool of actors."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core.errors import PipelineError, ResourceError
from curator_core.executors import Executor
from curator_core.outcomes import AnyTask
from curator_core.plans import Plan

from curator_actor_pool.options import ActorPoolOptions

if TYPE_CHECKING:
    from curator_core.runs.running import Run
    from curator_ray.facts import ClusterFacts


class RayActorPoolExecutor(Executor):
    """Runs stage after stage on a Ray cluster: each has all of it, and a barrier stands behind it.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. Give `options`, or a `config` with the same
    names.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts", "runtime_env"})

    def __init__(
        self,
        options: ActorPoolOptions | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if options is not None and config is not None:
            raise PipelineError("give the actor pool executor options or a config, not both")
        self.options = options or ActorPoolOptions.from_config(config or {})

    def __repr__(self) -> str:
        return f"RayActorPoolExecutor({self.options})"

    def check(self, plan: Plan) -> Iterable[str]:
        """Wrong hints and environments; and what no node has, where Ray is connected already."""
        problems = [
            f"stage {planned.index + 1} {planned.name!r}: no actor_pool hint {name!r}; there are "
            "none, so leave it out"
            for planned in plan.stages
            for name in planned.hints.get("actor_pool", {})
        ]
        if problems:
            raise PipelineError(problems)
        from curator_ray.postponing import import_ray

        try:
            ray = import_ray()
        except ModuleNotFoundError:
            raise PipelineError(
                "the actor pool executor needs Ray, which is not installed here: "
                "pip install ray, or choose another (CURATOR_EXECUTOR=local)"
            ) from None
        from curator_ray.environments import wrong_environments

        if problems := list(wrong_environments(plan)):
            raise PipelineError(problems)
        if ray.is_initialized():
            from curator_ray.facts import look

            from curator_actor_pool.places import unfit

            yield from unfit(plan, look(), self.options.reserved_cpus, self.options.reserved_gpus)

    def reach(self, plan: Plan) -> AbstractContextManager[None]:
        from curator_ray.connecting import connected
        from curator_ray.reaching import reached
        from curator_ray.starting import PrivateCluster

        from curator_actor_pool.places import unfit

        options = self.options

        def lacking(cluster: "ClusterFacts") -> Iterable[str]:
            return unfit(plan, cluster, options.reserved_cpus, options.reserved_gpus)

        private = PrivateCluster(object_store_gb=options.object_store_gb)
        return reached(connected(options.address, private), plan, lacking)

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        if not run.worker_stages or not run.has_work:
            from curator_ray.listing import only_listed

            yield from only_listed(run)
            return
        yield from self.drive(plan, run)

    def drive(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        """Execute what has work for workers: from here, or by a deputy on the cluster."""
        from curator_ray.connecting import connected
        from curator_ray.starting import PrivateCluster
        from curator_ray.surveying import Survey

        from curator_actor_pool.places import unfit

        options = self.options
        private = PrivateCluster(object_store_gb=options.object_store_gb)
        with connected(options.address, private) as connection:
            if connection.is_client:
                from curator_ray.deputizing import driven_there

                there = type(self)(replace(options, address=None))
                yield from driven_there(connection, there.drive, plan, run)
                return
            from curator_ray.hosts import Hosts  # not to be imported where Ray is refused

            from curator_actor_pool.driving import Driver

            run.events.tell("connected", how=connection.kind, address=connection.address)
            survey = Survey(connection)
            if problems := list(
                unfit(plan, survey.facts, options.reserved_cpus, options.reserved_gpus)
            ):
                raise ResourceError("\n".join(problems))
            hosts = Hosts(plan, run.token, folder=connection.folder, far=survey.is_far)
            try:
                yield from Driver(run, options, survey, hosts).outputs()
            finally:
                hosts.close()
