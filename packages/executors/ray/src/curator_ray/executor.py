"""What the executors on Ray have in common: checks, the connection, where a run is driven."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from curator_core import AnyTask, Executor, Plan
from curator_core.errors import PipelineError, ResourceError

from curator_ray.options import RayOptions

if TYPE_CHECKING:
    from curator_core import Run
    from curator_core.plan.executor import RemoteRun

    from curator_ray.cluster.connection import Connection
    from curator_ray.cluster.nodes import ClusterFacts
    from curator_ray.cluster.survey import Survey

FORCED_STOP_S = 4.0
"""How long workers may take to tear down once a stopping run has used up its time."""

Options = TypeVar("Options", bound=RayOptions)


class RayExecutor(Executor, Generic[Options]):
    """Checks a plan against the cluster, and drives the run from where that works.

    The cluster is the one that Ray is connected to, else `address`, else RAY_ADDRESS, else a
    private one on this machine that ends with the run. The pipelines of a workflow use one private
    cluster, on which each of them starts its own workers.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts", "runtime_env"})
    title: ClassVar[str]
    """Its name in messages."""

    needs: ClassVar[str] = "ray"
    """What to install with pip."""

    options: Options

    _session: ExitStack | None = None
    """Connections that a workflow keeps; none until a pipeline needs one."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.options})"

    @abstractmethod
    def outputs(
        self, plan: Plan, run: "RemoteRun", connection: "Connection", survey: "Survey"
    ) -> Iterator[AnyTask]:
        """Drive a run that has work for workers, on a cluster that meets its demands."""

    def hint_problems(self, plan: Plan) -> Iterable[str]:
        """Return what is wrong with the hints that stages give this executor."""
        return ()

    def unmet_demands(self, plan: Plan, cluster: "ClusterFacts") -> Iterable[str]:
        """Return what the plan asks for and no node has."""
        from curator_ray.resources import unmet_demands

        return unmet_demands(plan, cluster)

    def connected(self, plan: Plan) -> "AbstractContextManager[Connection]":
        """Connect to the cluster that the options name; it may depend on the plan.

        In a session, the connection is kept for the next pipeline.
        """
        from curator_ray.cluster.connection import connected
        from curator_ray.cluster.private import PrivateCluster

        private = PrivateCluster(object_store_gb=self.options.object_store_gb)
        if self._session is not None:
            self._session.enter_context(connected(self.options.address, private))
        return connected(self.options.address, private)

    @contextmanager
    def session(self) -> Iterator[None]:
        if self._session is not None:
            yield
            return
        with ExitStack() as kept:
            self._session = kept
            try:
                yield
            finally:
                self._session = None

    def check(self, plan: Plan) -> Iterable[str]:
        """Check hints and environments, and resources if Ray is connected already."""
        if problems := list(self.hint_problems(plan)):
            raise PipelineError(problems)
        from curator_ray.cluster.connection import is_initialized
        from curator_ray.runtime_env import runtime_env_problems

        if not is_ray_installed():
            raise PipelineError(
                f"the {self.title} executor needs Ray, which is not installed here: "
                f"pip install {self.needs}, or choose another (CURATOR_EXECUTOR=local)"
            )
        if problems := list(runtime_env_problems(plan)):
            raise PipelineError(problems)
        if is_initialized():
            from curator_ray.cluster.nodes import current_cluster

            yield from self.unmet_demands(plan, current_cluster())

    @contextmanager
    def connect(self, plan: Plan) -> Iterator[None]:
        from curator_ray.transfer.modules import check_plan_can_be_sent

        with self.connected(plan) as connection:
            survey = self.survey(plan, connection)
            check_plan_can_be_sent(plan, send_modules=survey.spans_machines)
            yield

    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        if not run.worker_stages or not run.has_work:
            yield from emit_sources(run)
        else:
            yield from self.drive(plan, run)

    def drive(self, plan: Plan, run: "RemoteRun") -> Iterator[AnyTask]:
        """Execute a run that has work for workers: from here, or from a process on the cluster."""
        with self.connected(plan) as connection:
            if connection.is_client:
                from curator_ray.remote.client import drive_remotely

                there = type(self)(replace(cast(Any, self.options), address=None))  # type: ignore[call-arg]
                yield from drive_remotely(connection, there.drive, plan, run)
                return
            run.events.emit("connected", how=connection.kind, address=connection.address)
            yield from self.outputs(plan, run, connection, self.survey(plan, connection))

    def survey(self, plan: Plan, connection: "Connection") -> "Survey":
        """Survey the nodes; raise if the plan asks for something that none of them has."""
        from curator_ray.cluster.survey import Survey

        survey = Survey(connection)
        if problems := list(self.unmet_demands(plan, survey.facts)):
            raise ResourceError("\n".join(problems))
        return survey


def emit_sources(run: "Run") -> Iterator[AnyTask]:
    """Emit the sources of a run that needs no worker, so Ray is not started.

    Everything is done already, or the only stage is the one that lists the sources.
    """
    from curator_core.model.reports import CallReport

    for source in run.sources():
        yield from run.add_output(source)
        yield from run.apply_report(CallReport(), [source])


def is_ray_installed() -> bool:
    """Whether Ray can be imported; a folder of that name is not enough."""
    found = find_spec("ray")
    return found is not None and found.origin is not None
