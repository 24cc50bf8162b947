"""The executor for people who live in Ray Data: the plan as a Ray Data job."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core.errors import PipelineError, ResourceError
from curator_core.executors import Executor
from curator_core.outcomes import AnyTask
from curator_core.plans import Plan

from curator_ray_data.hinting import wrong_hints
from curator_ray_data.options import RayDataOptions

if TYPE_CHECKING:
    from curator_core.runs.running import Run
    from curator_ray.connecting import Connection
    from curator_ray.facts import ClusterFacts

LOG = logging.getLogger("curator_core")

_OTHERS = "choose another (CURATOR_EXECUTOR=local)"


class _Once:
    """Whether something was said in this process."""

    is_said = False


class RayDataExecutor(Executor):
    """Runs the plan as one streaming job of Ray Data.

    Stages without a state of their own are tasks; those that are set up, have a GPU or a fixed
    number of workers are actor pools. The cluster is the one that Ray is connected to, else
    `address`, else RAY_ADDRESS, else a private one on this machine that ends with the run. Give
    `options`, or a `config` with the same names.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts", "runtime_env"})

    def __init__(
        self, options: RayDataOptions | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        if options is not None and config is not None:
            raise PipelineError("give the Ray Data executor options or a config, not both")
        self.options = options or RayDataOptions.from_config(config or {})

    def __repr__(self) -> str:
        return f"RayDataExecutor({self.options})"

    def check(self, plan: Plan) -> Iterable[str]:
        """Wrong hints and environments; and what no node has, where Ray is connected already."""
        if problems := list(wrong_hints(plan)):
            raise PipelineError(problems)
        from curator_ray.postponing import import_ray

        try:
            ray = import_ray()
        except ModuleNotFoundError:
            raise PipelineError(
                "the Ray Data executor needs Ray, which is not installed here: "
                f"pip install 'ray[data]', or {_OTHERS}"
            ) from None
        from curator_ray.environments import wrong_environments

        if problems := list(wrong_environments(plan)):
            raise PipelineError(problems)
        if ray.is_initialized():
            from curator_ray.facts import look

            from curator_ray_data.sharing import refused

            yield from refused(plan, look())

    def reach(self, plan: Plan) -> AbstractContextManager[None]:
        from curator_ray.reaching import reached

        from curator_ray_data.contexts import check_context
        from curator_ray_data.sharing import refused

        def lacking(cluster: "ClusterFacts") -> Iterable[str]:
            check_context(self.options.context)
            return refused(plan, cluster)

        return reached(self._connected(), plan, lacking)

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        from curator_ray.listing import only_listed

        if not run.worker_stages or not run.has_work:
            yield from only_listed(run)
            return
        _warn_once()
        yield from self.drive(plan, run)

    def drive(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        """Execute what has work for workers: from here, or by a deputy on the cluster."""
        from curator_ray.surveying import Survey

        from curator_ray_data.sources import Sources

        sources = Sources(run, self.options)
        with self._connected() as connection:
            if connection.is_client:
                from curator_ray.deputizing import driven_there

                there = type(self)(replace(self.options, address=None))
                yield from driven_there(connection, there.drive, plan, run)
                return
            run.events.tell("connected", how=connection.kind, address=connection.address)
            from curator_ray_data.contexts import check_context
            from curator_ray_data.driving import Driver
            from curator_ray_data.places import place_for
            from curator_ray_data.sharing import refused
            from curator_ray_data.standing_in import in_this_process

            check_context(self.options.context)
            survey = Survey(connection)
            if problems := list(refused(plan, survey.facts)):
                raise ResourceError("\n".join(problems))
            with ExitStack() as stack:
                smallest = min(planned.resources.cpus for planned in run.worker_stages)
                stack.enter_context(in_this_process(connection, survey.facts, smallest))
                place = stack.enter_context(place_for(plan, run.token, connection, survey))
                yield from Driver(run, sources, place, self.options).outputs()

    @contextmanager
    def _connected(self) -> "Iterator[Connection]":
        from curator_ray.connecting import connected
        from curator_ray.starting import PrivateCluster

        from curator_ray_data.hushing import hushed, unreported

        private = PrivateCluster(object_store_gb=self.options.object_store_gb)
        imports = _importing()
        with ExitStack() as stack:
            with hushed():
                connection = stack.enter_context(connected(self.options.address, private))
            if connection.kind == "private":
                stack.enter_context(unreported())
            imports.join()
            yield connection


def _importing() -> threading.Thread:
    """Import Ray Data while Ray starts: that takes a second, and the main thread only waits."""
    thread = threading.Thread(target=_import_all, name="curator-importing", daemon=True)
    thread.start()
    return thread


def _import_all() -> None:
    # Whoever needs it imports it once more, and gets the error where it can be understood.
    with suppress(Exception):
        import_module("curator_ray_data.driving")
        import_module("ray.data")


def _warn_once() -> None:
    if _Once.is_said:
        return
    _Once.is_said = True
    LOG.warning(
        "ray_data: how work is scheduled, cut into blocks and held back is decided by Ray Data, "
        "and may change with its version; the executor 'streaming' is the one that we measure"
    )
